#!/bin/bash
# Runs the commands that the documents show, so that neither they nor their output rot.
#   docs/examples.sh refresh [NAME]                 runs them for real and puts what they print into the
#                                                   documents; then the pictures (make docs-examples)
#   docs/examples.sh check FOLDER DOCUMENT [DIR]    runs those of a document in short (docs/examples.sed) and
#                                                   compares; with DIR, a test cluster that
#                                                   is up, those for a cluster, else the others
#                                                   (tests/cli/docs.bats, tests/cluster/docs.bats)
#                                                   With NOISELAB_TESTS=long more of them are measured, on two
#                                                   ranks.
#   docs/examples.sh unmarked                       blocks of commands without a marker
# A block of commands stands below a marker in the Markdown: <!-- example: NAME WORD... -->. In a block of
# `console` a command begins with "$ ", goes on where a line ends in \, and its output follows; a block of
# `sh` has commands only, and is one script. Words:
#   status=0,3       statuses that its commands may end with (default 0)
#   stderr           show what they say on stderr, too
#   head=N           show N lines of the output
#   from=TEXT        show the output from the line on that begins with TEXT (_ for a blank)
#   exact            the output is the same every time: check compares it as it is, else it wants the same
#                    words
#   cluster          on the login node of the test cluster
#   check-only       refresh leaves it alone
#   elsewhere=FILE   another test runs it; refreshed by its name
# All examples share a folder, in the order of the documents; what a block writes with --out is removed before
# it runs.
set -u
root=$(cd "$(dirname "$0")/.." && pwd) || exit 2
build=$root/${NOISELAB_BUILD:-build}
documents='README.md docs/tutorial.md docs/guides/agents.md docs/guides/acceptance.md docs/guides/cluster.md
    docs/guides/application.md docs/guides/extending.md docs/guides/scale.md docs/guides/advisor.md
    docs/guides/live.md docs/guides/settings.md docs/guides/gate.md docs/reference/operations.md
    docs/reference/kinds.md docs/reference/exit-status.md'
# campaign (a folder of the examples), plot, picture
pictures='
first     dose              slowdown
collectd  agent-phase       agent
accepted  acceptance-matrix acceptance
'
export PATH="$build/bin:$PATH" NO_COLOR=1 LC_ALL=C.UTF-8
# as root Open MPI wants to be told
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 \
    PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1

# blocks DOCUMENT: a line for each marked block: name, the fence'"'"'s language, number of its first and last
# line, words
blocks() {
    awk '
        /^ *<!-- example: / { marker = $0; sub(/.*example: */, "", marker); sub(/ *-->.*/, "", marker); next }
        /^ *```/ && !inside { inside = 1; language = $0; sub(/.*```/, "", language); begin = NR + 1; next }
        /^ *```/ {
            inside = 0
            if (marker != "") { name = marker; sub(/ .*/, "", name); words = marker;
                sub(/^[^ ]* */, "", words); print name, language, begin, NR - 1, words }
            marker = ""
        }' "$1"
}

# word NAME WORDS: the value of NAME=..., "yes" for a word alone, or nothing
word() { printf '%s\n' "$2" | tr ' ' '\n' | sed -n "s/^$1=//p; s/^$1\$/yes/p"; }

# commands_of: of a block of console on stdin, numbered files $parts/N.command and N.output
commands_of() {
    rm -rf "$parts"
    mkdir -p "$parts"
    awk -v folder="$parts" '
        goes_on || /^\$ / { if (!goes_on) { n++; sub(/^\$ /, "") }
            print > (folder "/" n ".command"); printf "" > (folder "/" n ".output"); goes_on = /\\$/; next }
        n { print > (folder "/" n ".output") }'
}

# numbers: of those commands, in order
numbers() { find "$parts" -name '*.command' -printf '%f\n' | sort -n | cut -d . -f 1; }

# before a command: check ends one that does not end by itself
limit=()

# run COMMAND_FILE: status in $status, output in $parts/out
run() {
    local where=()
    # nodes of the test cluster share CPUs: ranks that wait let the others run
    [ -z "$cluster" ] ||
        where=(env OMPI_MCA_mpi_yield_when_idle=1 "$root/tests/cluster/cluster.sh" run "$cluster")
    # what it leaves in the background ends with it
    # shellcheck disable=SC2016 # for that shell
    (cd "$folder" &&
        ROOT=$root "${limit[@]}" "${where[@]}" bash -e -c 'trap "jobs -p | xargs -r kill" EXIT; . "$1"' - \
        "$1") >"$parts/stdout" 2>"$parts/stderr" </dev/null
    status=$?
    { [ -z "$(word stderr "$words")" ] || cat "$parts/stderr"; cat "$parts/stdout"; } |
        sed "s|$folder/||g; s|$root/||g; s|$build/|build/|g; s/\\b$(uname -n)\\b/vm/g; s/ *\$//" |
        shown >"$parts/out"
    case ",$(word status "$words" | grep . || echo 0)," in
    *",$status,"*) return 0 ;;
    *)
        echo "$name: status $status of: $(cat "$1")"
        tail -n 20 "$parts/stderr" "$parts/stdout"
        return 1
        ;;
    esac
} 3>&-

# shown: the part of an output that the block wants
shown() {
    awk -v from="$(word from "$words" | tr _ ' ')" -v head="$(word head "$words")" '
        !begun && index($0, from) != 1 { next }
        !begun { begun = 1; if (NR > 1) print "..." }
        head && ++n > head { if (n == head + 1) print "..."; next }
        { print }'
}

# needed_files: what a reader would have written or has beside
needed_files() {
    cp -r "$root/docs/sample/." "$folder/" && ln -sfn "$root/analysis" "$folder/analysis"
}

# ---- refresh
# ------------------------------------------------------------------------------------------------------------

cluster_dir=''
cluster_up() {
    [ -z "$cluster_dir" ] || return 0
    cluster_dir=$(mktemp -d /tmp/noiselab-docs.XXXXXX)
    trap '"$root/tests/cluster/cluster.sh" down "$cluster_dir"; rm -rf "$cluster_dir"' EXIT
    "$root/tests/cluster/cluster.sh" up --nodes 3 --tag docs "$cluster_dir"
}

# refresh_block DOCUMENT: the block named $name; the document is true after each block, whatever happens to
# the next
refresh_block() {
    local began=$SECONDS
    cluster=''
    [ -z "$(word cluster "$words")" ] || { cluster_up && cluster=$cluster_dir; } || return 1
    sed -n "${first},${last}p" "$1" >"$parts.body"
    # a folder of results is made anew
    grep -oE -- '--out [^ ]+' "$parts.body" | while read -r _ made; do rm -rf "${folder:?}/$made"; done
    case $language in
    sh) cp "$parts.body" "$parts.new" && mkdir -p "$parts" && run "$parts.body" || return 1 ;;
    console)
        commands_of <"$parts.body"
        : >"$parts.new"
        for command in $(numbers); do
            run "$parts/$command.command" || return 1
            sed '1s/^/$ /' "$parts/$command.command" >>"$parts.new"
            cat "$parts/out" >>"$parts.new"
        done
        ;;
    *) echo "$1: $name: a block of '$language' has no commands" && return 1 ;;
    esac
    awk -v first="$first" -v last="$last" -v new="$parts.new" '
        NR == first { while ((getline line < new) > 0) print line }
        NR >= first && NR <= last { next }
        { print }' "$1" >"$parts.document" && cat "$parts.document" >"$1"
    echo "$1: $name ($((SECONDS - began)) s)"
}

refresh() {
    local failed=0 known=''
    folder=$build/docs-examples
    parts=$build/docs-parts
    mkdir -p "$folder" "$parts" "$root/docs/images"
    needed_files
    cd "$root" || exit 2
    for document in $documents; do
        # lines move with each block that is put in: look them up again
        for wanted in $(blocks "$document" | cut -d ' ' -f 1); do
            read -r name language first last words <<<"$(blocks "$document" | grep "^$wanted ")"
            # NAME may be a pattern, such as list-*
            # shellcheck disable=SC2053
            [[ $name == ${1:-*} ]] || continue
            known=yes
            [ -z "$(word check-only "$words")" ] || continue
            [ -z "$(word elsewhere "$words")" ] || [ "$name" = "${1-}" ] || continue
            refresh_block "$document" || failed=1
        done
    done
    while read -r campaign plot picture; do
        [ -n "$campaign" ] || continue
        # shellcheck disable=SC2053
        [[ $picture == ${1:-*} ]] || continue
        known=yes
        noiselab plot "$plot" "$folder/$campaign" --out "$root/docs/images/$picture.png" || failed=1
    done <<<"$pictures"
    [ -n "$known" ] || { echo "docs/examples.sh: no example or picture is called '$1'" >&2 && failed=2; }
    return "$failed"
}

# ---- check
# ------------------------------------------------------------------------------------------------------------

# words_in FILE: letters only, without verdicts and units, which are other ones each time
words_in() { tr -c '[:alpha:]' '\n' <"$1" | grep -E '...' | grep -vxE "$varying" | sort -u; }
varying='detected|not|inconclusive|pass|fail|PASS|FAIL|INCONCLUSIVE|above|below|decided|undecided|agree'
varying="$varying|disagree|cannot|told|found"

# vocabulary: words that the programs have, whatever the data make them say; in the file of that name
vocabulary() {
    find "$root"/{analysis/R,experiments,common,detector,noisegen} -type f -exec cat {} + >"$folder/.sources"
    words_in "$folder/.sources" >"$folder/.vocabulary"
    rm "$folder/.sources"
}

# like SHOWN SAID: nine of ten words of what is shown are said, or are words of the programs: a short run may
# come to another answer
like() {
    words_in "$1" >"$parts/shown"
    words_in "$2" >"$parts/said"
    [ -e "$folder/.vocabulary" ] || vocabulary
    gone=$(cat "$parts/said" "$folder/.vocabulary" | grep -vxFf - "$parts/shown")
    if [ $(($(printf '%s' "$gone" | grep -c .) * 10)) -gt "$(wc -l <"$parts/shown")" ]; then
        echo "$name: shown, and neither said nor words of the programs: $gone"
        echo "said:"
        cat "$2"
        return 1
    fi
}

# short FILE: its commands as check runs them
short() {
    local rules='1,$'
    [ "${NOISELAB_TESTS-}" != long ] || rules='1,/^# ----/'
    sed -e ':more' -e '/\\$/{' -e N -e 's/\\\n *//' -e 'b more' -e '}' "$1" |
        sed -E -e "$(sed -n "${rules}p" "$root/docs/examples.sed")" \
        -e "s/:PORT\b/:$((10000 + $$ % 20000))/g" >"$1.short"
}

# what would build, ask for a password, or is not there: for the commands alone
# shellcheck disable=SC2317,SC2153
stand_ins() {
    make() { command make -n -s -C "$ROOT" "$@" >/dev/null; }
    sudo() { "$@"; }
    module() { :; }
    export -f make sudo module
}

# cannot_tell: the data of a run of seconds, beside others, may not answer; what failed has another status
cannot_tell() { [ "$status" = 3 ]; }

check() {
    local failed=0 here=${3:+yes}
    folder=$(cd "$1" && pwd) && cluster=${3-} || exit 2
    stand_ins
    limit=(timeout --foreground 200)
    parts=$folder/.parts
    mkdir -p "$parts"
    needed_files
    # a run of seconds sees some samples
    sed -i 's/^Interval 1$/Interval 0.1/' "$folder/collectd.conf"
    while read -r name language first last words; do
        elsewhere=$(word elsewhere "$words")
        if [ -n "$elsewhere" ]; then
            [ -e "$root/$elsewhere" ] || { echo "$name: no file $elsewhere" && failed=1; }
            continue
        fi
        [ "$(word cluster "$words")" = "$here" ] || continue
        sed -n "${first},${last}p" "$root/$2" >"$parts.body"
        if [ "$language" = sh ]; then
            mkdir -p "$parts"
            short "$parts.body"
            run "$parts.body.short" || cannot_tell || failed=1
            continue
        fi
        commands_of <"$parts.body"
        for command in $(numbers); do
            short "$parts/$command.command"
            run "$parts/$command.command.short" || { cannot_tell || failed=1 && continue; }
            if [ -n "$(word exact "$words")" ]; then
                diff "$parts/$command.output" "$parts/out" || { echo "$name: make docs-examples ONLY=$name" &&
                    failed=1; }
            else
                like "$parts/$command.output" "$parts/out" || failed=1
            fi
        done
    done < <(blocks "$root/$2")
    return "$failed"
}

# unmarked: commands that nobody runs
unmarked() {
    cd "$root" && for document in $documents; do
        awk -v document="$document" '
            /^ *<!-- example: / { marked = NR }
            /^ *```(sh|console)$/ && !inside && marked != NR - 1 {
                print document ":" NR ": no marker above this block" }
            /^    (\$ )?(noiselab|mpirun|make|srun)/ && !inside {
                print document ":" NR ": a command outside of a block" }
            /^ *```/ { inside = !inside }' "$document"
    done
}

case ${1-} in
refresh | check | unmarked) "$@" ;;
*) echo 'usage: docs/examples.sh refresh [NAME] | check FOLDER DOCUMENT [CLUSTER] | unmarked' >&2 && exit 2 ;;
esac
