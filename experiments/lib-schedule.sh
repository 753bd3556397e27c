# The schedule of a campaign: every launch it is to have, written before the first one starts. Sourced by lib.sh.
# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # variables are shared with the other parts
#
# CAMPAIGN/schedule.tsv: lines "# key: value"; a line of column names; then a line for each launch with its id (the name of its folder), set, nodes
# (- all), ranks (- one per core) and the detector's words, separated by tabs. Words for the runner come first, see take_launch_words.

schedule_columns="launch${tab}set${tab}nodes${tab}ranks${tab}arguments"

# row SET NODES RANKS WORDS: prints the line of the next launch. Needs launch_prefix, row_number and row_suffix; with launch_id that is the launch's
# name.
row() {
    row_number=$((row_number + 1))
    printf '%s\t%s\t%s\t%s' "${launch_id:-$(printf '%s-%04d%s' "$launch_prefix" "$row_number" "$row_suffix")}" "$1" "$2" "$3"
    shift 3
    [ -z "$app" ] || set -- "--follow=$app_words" "$@"
    for word in "$@"; do
        case $word in
        '' | *"$tab"* | *"$newline"*)
            die 2 "'$word': an option or value that is empty, or holds a tab or a line break, cannot be kept in the schedule"
            ;;
        esac
        printf '\t%s' "$word"
    done
    echo
}

# refuse_scheduled: a folder with a schedule is a campaign that goes on as it was planned
refuse_scheduled() {
    [ ! -e "$campaign/schedule.tsv" ] || die 2 "'$campaign' has a schedule already: $(how_to_go_on), or give another --out"
}

# what else the plan may make for the campaign: a folder for an agent, limits of acceptance
planned_files='agent limits.conf classes.conf'

# make_campaign: the folder, and in it what the plan made
make_campaign() {
    # what is there and is no campaign of ours is not taken without a word
    if [ -z "$is_campaign_made" ] && [ -d "$campaign" ] && [ ! -e "$campaign/schedule.tsv" ] && [ -n "$(ls "$campaign" 2>/dev/null)" ]; then
        case $(ls "$campaign"/*/launch.json 2>/dev/null) in
        '') note "'$campaign' exists and is no campaign: the launches go beside what is in it ($(first_of "$campaign"))" ;;
        *) note "'$campaign' holds launches already: these are added to them, and analysed with them" ;;
        esac
    fi
    reason=$(mkdir -p "$campaign" 2>&1) || die 2 "--out: cannot make '$campaign': ${reason##*: }"
    is_campaign_made=yes
    for name in $planned_files; do
        [ ! -e "${scratch-}/$name" ] || cp -R "$scratch/$name" "$campaign/" || die 2 "cannot write into '$campaign' (no space left?)"
    done
}

# first_of FOLDER: what is in it, shortened
# shellcheck disable=SC2012 # for people
first_of() { ls "$1" | awk 'NR <= 3 { out = out (NR > 1 ? ", " : "") $0 } END { print out (NR > 3 ? " and " NR - 3 " more" : "") }'; }

# plan WORDS: has the experiment plan its launches; the schedule is then in $scratch
plan() {
    make_scratch
    schedule=$scratch/schedule.tsv
    # ids are unique over campaigns too, so that campaigns can be analysed together
    launch_prefix=$(date -u +%Y%m%dT%H%M%SZ)-$(od -An -N2 -tx1 /dev/urandom | tr -d ' \n')
    row_number=0
    plan_launches "$@" >"$scratch/rows" || die 2 "cannot write into '$scratch' (no space left?)"
    { schedule_head "$scratch/rows" && cat "$scratch/rows"; } >"$schedule" || die 2 "cannot write into '$scratch' (no space left?)"
}

# assumed_scatter: of a pair's log ratio, percent, as noiselab plan assumes it without a pilot (analysis/R/plan.R): figure times sqrt(2 / s), of
# ranks where every half holds the same bursts, else of the mean. No R: compute nodes have none.
assumed_scatter='
    function scatter(half_s, by_ranks, i, x, y, n) {
        n = split("0.01 1 5", x, " ")
        split((by_ranks ? 4 * sqrt(0.01 / 2) : 0.5) " 2.1 4", y, " ")
        for (i = 1; i <= n; i++) { x[i] = log(x[i]); y[i] = log(y[i]) }
        half_s = log(half_s)
        i = half_s < x[2] ? 1 : 2
        if (half_s < x[1]) half_s = x[1]
        return exp(y[i] + (y[i + 1] - y[i]) / (x[i + 1] - x[i]) * (half_s - x[i]))
    }'

# say_reach LAUNCHES: before the first of these launches, all as rehearsed: what they take in all, and how small a slowdown they could see. Nothing
# is refused. The limit is that of alpha 0.01 and power 0.95; with fewer than 7 pairs no test reaches 0.01.
say_reach() {
    figures=$(rehearsed design rounds halves_per_round half_ns) && patterns=$(rehearsed 'treatments.*.pattern') || exit $?
    reach=$(printf '%s\n' "$figures" "$patterns" | awk -F '\t' -v launches="$1" -v start="$start_s" "$assumed_scatter"'
        NR == 1 { design = $1; rounds = $2; n = $3; half = $4 / 1e9; next }
        NF && $1 != "periodic" { varies = 1 }
        function say(s) { return s < 120 ? sprintf("%.0f s", s) : sprintf("%d min %d s", s / 60, s % 60) }
        END {
            if (design == "single") exit
            unit = half < 1e-3 ? "us" : half < 1 ? "ms" : "s"
            number = half * (half < 1e-3 ? 1e6 : half < 1 ? 1e3 : 1)
            pairs = rounds * launches
            all = launches * (rounds * n * (half + 3e-4) + start)
            what = sprintf("%d launch%s, some %s in all; %d pairs of %g %s for each operation and level", launches, launches == 1 ? "" : "es",
                           say(all), pairs, number, unit)
            if (pairs < 7) {
                each = (int(6 / launches) + 1) * n * half
                printf "%s: too few, a test at alpha 0.01 needs 7; --seconds %g would do\n", what, (int(each * 10 - 1e-9) + 1) / 10
                exit
            }
            sd = scatter(half, !varies && design == "lockin") * sqrt(2 / half)
            printf "%s: by time a slowdown of %.2g %% can be seen (assumed: pairs scatter by %.2g %%)\n", what,
                   (2.3263 + 1.6449) * sd / sqrt(pairs), sd
        }')
    [ -z "$reach" ] || note "plan: $reach"
}

# redacted FILE: with *** for passwords and the like; fails where there are some
redacted() {
    "$NOISELAB_LIBEXEC/noiselab-sh" redact <"$1"
    case $? in 0) ;; 1) return 1 ;; *) die 2 "cannot write a copy of '$1' (no space left?)" ;; esac
}

# keep_schedule: into the campaign; the words as they are, where some are secret, into a file that nobody else may read. Sets schedule, the one to run.
keep_schedule() {
    schedule=$campaign/schedule.tsv
    if ! redacted "$scratch/schedule.tsv" >"$scratch/shown.tsv"; then
        schedule=$campaign/schedule.private.tsv
        (umask 077 && replace_file "$schedule" <"$scratch/schedule.tsv") || die 2 "cannot write '$schedule' (not allowed, or no space left?)"
    fi
    replace_file "$campaign/schedule.tsv" <"$scratch/shown.tsv" || die 2 "cannot write '$campaign/schedule.tsv' (not allowed, or no space left?)"
}

# keep NAME: a file of $scratch into the campaign, in one step
keep() { replace_file "$campaign/$1" <"$scratch/$1" || die 2 "cannot write '$campaign/$1' (not allowed, or no space left?)"; }

# schedule_head ROWS
schedule_head() {
    cat <<EOT &&
# schema: 1
# experiment: $experiment
# created_utc: $(date -u +%Y-%m-%dT%H:%M:%SZ)
# version: $("$NOISELAB_BIN/noiselab-gen" --version | sed 's/noiselab-gen //')
# command: $command
# seed: $seed
# launches: $(wc -l <"$1" | tr -d ' ')
# nodes_planned: $(if [ -n "$submit" ]; then echo "${nodes:--}"; else echo "$n_nodes"; fi)
# seconds_per_launch: $(launch_times "$1" | awk -v start="$start_s" '$2 > most { most = $2 } END { printf "%.1f\n", most + start }')
# margin_percent: ${margin:--}
# report: $([ -n "${no_report-}" ] && echo no || echo yes)
# treatment: ${treatment:--}
# interval_s: ${interval_s:--}${hosts:+$newline# hosts: $hosts}${schedule_notes:+$newline$schedule_notes}
EOT
        printf '%s\n' "$schedule_columns"
}

# schedule_key KEY: its value; empty for -
schedule_key() { sed -n "/^launch$tab/q; s/^# $1: //p" "$schedule" | sed 's/^-$//'; }

# read_schedule CAMPAIGN: checks that there is one that this noiselab and this experiment can go on with, and takes over what it recorded
read_schedule() {
    campaign=${1%/}
    schedule=$campaign/schedule.tsv
    [ -d "$campaign" ] || die 2 "'$campaign' is not a folder"
    [ -f "$schedule" ] ||
        die 2 "'$campaign' has no schedule.tsv: it was made by an older noiselab, or by noiselab detect, and cannot be resumed, only analysed"
    # words that stand in it are run
    [ "$(id -u)" != 0 ] || [ "$(find "$campaign" "$schedule" -prune -user 0 | wc -l)" -eq 2 ] ||
        die 2 "'$campaign' belongs to another user, and what it says would be run as root: go on with it as that user"
    [ "$(schedule_key schema)" = 1 ] || die 2 "'$schedule': schema '$(schedule_key schema)' is not known here (1 is)"
    [ "$(schedule_key experiment)" = "$experiment" ] ||
        die 2 "'$campaign' is of the experiment '$(schedule_key experiment)': noiselab run $(schedule_key experiment) --resume '$campaign'"
    damaged=$(awk -F '\t' -v columns="$schedule_columns" '
        /^#/ && !head { next }
        !head { head = 1; if ($0 != columns) { print NR; exit }; next }
        NF < 5 || $1 !~ /^[A-Za-z0-9_-][A-Za-z0-9._-]*$/ || seen[$1]++ { print NR; exit }
        END { if (!head) print NR + 0 }' "$schedule" | head -n 1)
    [ -z "$damaged" ] || die 2 "'$schedule', line $damaged: not a launch of its own (launch, set, nodes, ranks, words, separated by tabs)"
    seed=$(schedule_key seed)
    margin=$(schedule_key margin_percent)
    treatment=$(schedule_key treatment)
    interval_s=$(schedule_key interval_s)
    analyses=$(schedule_key analyses)
    [ "$(schedule_key report)" = yes ] || no_report=yes
    take_private_schedule
    # a Slurm job that goes on has nodes of its own
    in_slurm_job || [ -n "$submit" ] || hosts=${hosts:-$(schedule_key hosts)}
    check_hosts
    check_start=$(schedule_key start_s)
    case $check_start in *[!0-9]* | '') ;; *) start_s=$check_start ;; esac
    case $analyses in *[!a-z,]*) die 2 "'$schedule': '$analyses' is not a value of 'analyses'" ;; esac
    check_key 'seed' "$seed" && check_key 'margin_percent' "$margin" && check_key 'interval_s' "$interval_s"
}

# take_private_schedule: where words of the schedule are secret, those as they are
take_private_schedule() {
    private=$campaign/schedule.private.tsv
    if [ -f "$private" ]; then
        [ "$(id -u)" != 0 ] || [ -n "$(find "$private" -prune -user 0)" ] || die 2 "'$private' belongs to another user, and would be run as root"
        schedule=$private
    elif [ -n "$resume" ] && sed "1,/^launch$tab/d" "$schedule" | grep -qF '***'; then
        die 2 "'$schedule' has *** where passwords were, and '$private', which has them, is gone: it can only be analysed (--finish)"
    fi
}

# check_key KEY VALUE: plain words only; they become options
check_key() {
    case $2 in
    *[!0-9A-Za-z.%]*) die 2 "'$schedule': '$2' is not a value of '$1'" ;;
    esac
}

# launch_times FILE: a line "launch seconds task" for each launch: its measuring time, and the number of its task in an array job. Launches that are
# compared within a set are one task, so that they run on the same nodes; any other launch is one by itself.
launch_times() {
    awk -F '\t' '
        function seconds(text, number, unit) {
            number = text; sub(/[a-z]+$/, "", number); unit = substr(text, length(number) + 1)
            return number * size[unit]
        }
        BEGIN { size["ns"] = 1e-9; size["us"] = 1e-6; size["ms"] = 1e-3; size[""] = size["s"] = 1; size["min"] = 60; size["h"] = 3600 }
        /^#/ || $1 == "launch" { next }
        {
            s = 0
            for (i = 5; i < NF; i++) if ($i == "--seconds") s = seconds($(i + 1))
            if ($2 == "-") task = ++n_tasks
            else task = $2 in task_of ? task_of[$2] : (task_of[$2] = ++n_tasks)
            print $1, s, task
        }' "$1"
}

# longest_seconds TASKS: what the longest launch takes with its start, or with TASKS yes the longest task of an array
longest_seconds() {
    launch_times "$schedule" 2>/dev/null | awk -v tasks="$1" -v start="$start_s" '
        { s[tasks == "yes" ? $3 : NR] += $2 + start }
        END { for (i in s) if (s[i] > most) most = s[i]; printf "%d\n", most + 1 }'
}

# launch_ends FILE...: of each launch.json that is there, and whole, a line "file end" with a tab: complete, interrupted, failed: ..., or - (no end)
launch_ends() { json_values --with-names --pass-damaged "$@" -- ended; }

# is_complete LAUNCH
is_complete() {
    end=$(launch_ends "$campaign/$1/launch.json") || exit $?
    [ "${end##*"$tab"}" = complete ]
}

# complete_and_planned: the launches that are complete, a line =, and a line "launch seconds task" for each planned one
complete_and_planned() {
    ends=$(launch_ends "$campaign"/*/launch.json) || exit $?
    printf '%s\n' "$ends" | sed -n "s|/launch.json${tab}complete\$||p" | sed 's|.*/||'
    echo '='
    launch_times "$schedule"
}

# count_launches: sets n_planned, n_complete, and left_s, the measuring time of those that are not complete
count_launches() {
    launches_now=$(complete_and_planned) || exit $?
    # shellcheck disable=SC2046 # three numbers
    set -- $(printf '%s\n' "$launches_now" | awk '
        $0 == "=" { planned = 1; next }
        !planned { complete[$1] = 1; next }
        { n++; if ($1 in complete) done++; else left += $2 }
        END { printf "%d %d %.1f\n", n, done, left }')
    n_planned=$1 n_complete=$2 left_s=$3
}
