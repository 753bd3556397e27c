#!/bin/sh
# noiselab-node-health: the last stored acceptance verdict of this node, for Slurm's HealthCheckProgram and
# NHC. It only reads a small file: health checkers run on all nodes at once, and are killed after 60 s. It
# changes nothing: the drain command is printed.
set -u
LC_ALL=C
export LC_ALL

usage() {
    cat <<'EOT'
Usage: noiselab-node-health [OPTIONS] [FILE|DIR]

Says what the last acceptance run found of this node. FILE is the node's file HOST.txt of an acceptance
campaign (CAMPAIGN/nodes/HOST.txt); DIR the folder of them, in which that of this host is taken (default
/etc/noiselab/nodes, which may be a link). Nothing is measured, started or changed; on a failed verdict that
somebody asked for (by a margin, limits or a reference, or of wrong data) the command that would drain the
node is printed, for an administrator to run.

  --max-age TIME  ignore a verdict that is older than this (such as 36h, 2d; default: any age)
  --host NAME     another node than this one
  -h, --help      this text

Exit status: 0 pass; 1 fail; 2 usage, or a file that cannot be read or is damaged; 3 inconclusive, too old,
or none for this node under this very name. Only 1 says something against the node.
EOT
}

# stop STATUS MESSAGE
stop() {
    status=$1
    shift
    printf 'noiselab-node-health: %s\n' "$*" >&2
    exit "$status"
}

# plain TEXT [MORE]: what is printed may be pasted into a shell, and comes from a file; MORE: letters that may
# stand where it is quoted
plain() { printf '%s' "$1" | tr -c "A-Za-z0-9 ._%+:,/()=${2-}-" '?'; }

host=$(uname -n) max_age='' place=''
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help)
        usage
        exit 0
        ;;
    --list-tables)
        # for completion and noiselab help
        usage | sed -n 's/^  \(--[a-z-]*\) \([A-Z]*\)  *\(.*\)/option\t\1\t\2\t\3/p'
        exit 0
        ;;
    --max-age=* | --host=*)
        word=$1
        shift
        set -- "${word%%=*}" "${word#*=}" "$@"
        continue
        ;;
    --max-age | --host)
        [ $# -ge 2 ] || stop 2 "$1 needs a value"
        if [ "$1" = --host ]; then host=$2; else max_age=$2; fi
        shift
        ;;
    -*) stop 2 "'$1' is not an option (see --help)" ;;
    *)
        [ -z "$place" ] || stop 2 "'$1': one FILE or DIR, and '$place' is one already"
        place=$1
        ;;
    esac
    shift
done
place=${place:-/etc/noiselab/nodes}
case $host in '' | */* | .*) stop 2 "--host: '$host' is not a name of a node" ;; esac

max_age_s=''
if [ -n "$max_age" ]; then
    max_age_s=$(printf '%s\n' "$max_age" | awk '
        /^[0-9]+(s|min|h|d)$/ {
            size["s"] = 1; size["min"] = 60; size["h"] = 3600; size["d"] = 86400
            unit = $0; sub(/^[0-9]+/, "", unit)
            seconds = ($0 + 0) * size[unit]
            # what is beyond a century is a slip, and beyond what a shell counts in says nothing at all
            if (seconds <= 100 * 366 * 86400) printf "%.0f\n", seconds
        }')
    [ -n "$max_age_s" ] ||
        stop 2 "--max-age: '$max_age' is not a time with its unit of at most a century (try 36h, 2d)"
fi

# what others of this short name are called, with and without a domain: nothing here knows which of them is
# which
file=$place namesakes=''
if [ -d "$place" ]; then
    file=$place/$host.txt
    for other in "$place/${host%%.*}.txt" "$place/${host%%.*}".*.txt; do
        [ "$other" = "$file" ] || [ ! -e "$other" ] ||
            namesakes="$namesakes${namesakes:+, }$(plain "$(basename "$other" .txt)")"
    done
fi
if [ ! -e "$file" ]; then
    [ "$file" != "$place" ] || stop 2 "'$file' is not there"
    could=${namesakes:+; ambiguous: it could be $namesakes, or another node (say which with --host)}
    stop 3 "no verdict of $host in '$place'$could"
fi
if [ ! -f "$file" ] || [ ! -r "$file" ]; then stop 2 "cannot read '$file'"; fi

# value KEY: of the first line that has it
value() { sed -n "s/^$1: *//p" "$file" | head -n 1; }

verdict=$(value verdict) ended=$(value ended_utc)
case $verdict in
pass | fail | inconclusive) ;;
*) stop 2 "'$file' is not a node's verdict: no line 'verdict: pass', 'fail' or 'inconclusive'" ;;
esac
age_s=''
# a day that there is not has no age, either
if printf '%s\n' "$ended" | grep -qxE '[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z'; then
    age_s=$(date -u -d "$(printf '%s' "$ended" | tr TZ '  ')" +%s 2>/dev/null) &&
        age_s=$(($(date +%s) - age_s))
fi
[ -n "$age_s" ] || stop 2 "'$file' does not say when (ended_utc: wanted a time like 2026-01-31T23:59:59Z)"
# clocks of a cluster agree to minutes, or nothing can be said of ages
[ "$age_s" -ge -300 ] ||
    stop 2 "'$file': its verdict is of $ended, which is yet to come: look at the clocks of this node and of \
the one that judged"
if [ -n "$max_age_s" ] && [ "$age_s" -gt "$max_age_s" ]; then
    stop 3 "the last verdict of $host ($verdict, $ended) is older than $max_age"
fi

# files of versions that asked a question of their own have no such line
asked=$(value asked)
case $asked in
'' | yes | no) ;;
*) stop 2 "'$file': its line 'asked' is neither yes nor no" ;;
esac

words=$verdict
[ "$asked$verdict" != noinconclusive ] ||
    words='measured, not judged: no margin, limits or reference were given'
echo "$host: $words ($ended)"
case $verdict in
pass) exit 0 ;;
inconclusive) exit 3 ;;
esac
if [ "$asked" = no ]; then
    echo "no draining is proposed: nobody gave a margin, limits or a reference, by which this node would be" \
        judged
    exit 1
fi
failed=$(sed -n 's/^failed: *//p' "$file" | head -n 5 | paste -sd ';' -)
reason=$(plain "noiselab: ${failed:-acceptance failed}, $ended" '<>[]')
[ -n "$namesakes" ] || host=${host%%.*}
printf 'scontrol update NodeName=%s State=DRAIN Reason="%s"\n' "$(plain "$host")" "$reason"
exit 1
