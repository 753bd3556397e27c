# The schedule of a campaign: every launch it is to have, written before the first one starts. Sourced by lib.sh.
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared with the other parts
# Its form is in docs/reference/formats.md. Here rows is an array of its launches' lines, and schedule_values has the keys.

schedule_columns="launch${tab}set${tab}nodes${tab}ranks${tab}arguments"

# row SET NODES RANKS WORDS: adds the line of the next launch to rows. Needs launch_prefix, row_number and row_suffix; with launch_id that is the
# launch's name.
row() {
    local word line
    row_number=$((row_number + 1))
    printf -v line '%s-%04d%s' "$launch_prefix" "$row_number" "$row_suffix"
    line=${launch_id:-$line}$tab$1$tab$2$tab$3
    shift 3
    [ -z "$app" ] || set -- "--follow=$app_words" "$@"
    for word; do
        case $word in
        '' | *"$tab"* | *"$newline"*)
            die 2 "'$word': an option or value that is empty, or holds a tab or a line break, cannot be kept in the schedule"
            ;;
        esac
        line+=$tab$word
    done
    rows+=("$line")
}

# refuse_scheduled: a folder with a schedule is a campaign that goes on as it was planned
refuse_scheduled() {
    [ ! -e "$campaign/schedule.tsv" ] || die 2 "'$campaign' has a schedule already: $(how_to_go_on), or give another --out"
}

# what else the plan may make for the campaign: a folder for an agent, limits of acceptance
planned_files='agent limits.conf classes.conf'

# make_campaign: the folder, and in it what the plan made
make_campaign() {
    local name
    # what is there and is no campaign of ours is not taken without a word
    if [ -z "$is_campaign_made" ] && [ ! -e "$campaign/schedule.tsv" ] && compgen -G "$campaign/*" >/dev/null; then
        if compgen -G "$campaign/*/launch.json" >/dev/null; then
            note "'$campaign' holds launches already: these are added to them, and analysed with them"
        else
            local -a there=("$campaign"/*)
            printf -v name ', %s' "${there[@]:0:3}"
            name=${name//"$campaign/"/}
            [ ${#there[@]} -le 3 ] || name+=" and $((${#there[@]} - 3)) more"
            note "'$campaign' exists and is no campaign: the launches go beside what is in it (${name#, })"
        fi
    fi
    reason=$(mkdir -p "$campaign" 2>&1) || die 2 "--out: cannot make '$campaign': ${reason##*: }"
    is_campaign_made=yes
    for name in $planned_files; do
        [ ! -e "${scratch-}/$name" ] || cp -R "$scratch/$name" "$campaign/" || die 2 "cannot write into '$campaign' (no space left?)"
    done
}

# plan WORDS: has the experiment plan its launches
plan() {
    make_scratch
    # ids are unique over campaigns too, so that campaigns can be analysed together
    utc %Y%m%dT%H%M%SZ
    printf -v launch_prefix '%s-%04x' "$REPLY" "$(((RANDOM << 1 ^ $$) & 65535))"
    row_number=0 rows=()
    plan_launches "$@"
    schedule_head
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
    rehearsed design rounds halves_per_round half_ns -- 'treatments.*.pattern'
    reach=$(awk -F '\t' -v launches="$1" -v start="$start_s" "$assumed_scatter"'
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
        }' <<<"$REPLY")
    [ -z "$reach" ] || note "plan: $reach"
}

# redacted TEXT: sets REPLY to it with *** for passwords and the like; fails where there are some
redacted() {
    REPLY=$("$NOISELAB_LIBEXEC/noiselab-sh" redact <<<"$1")
    case $? in 0) ;; 1) return 1 ;; *) die 2 'cannot make a copy without passwords (no space left?)' ;; esac
}

# keep_schedule: into the campaign; the words as they are, where some are secret, into a file that nobody else may read. Sets schedule, the one to run.
keep_schedule() {
    local text
    schedule=$campaign/schedule.tsv
    printf -v text '%s\n' "$head_text" "$schedule_columns" "${rows[@]}"
    text=${text%"$newline"}
    if ! redacted "$text"; then
        schedule=$campaign/schedule.private.tsv
        (umask 077 && replace_file "$schedule" "$text") || die 2 "cannot write '$schedule' (not allowed, or no space left?)"
    fi
    keep schedule.tsv "$REPLY"
}

# keep NAME TEXT: a file of the campaign, in one step
keep() { replace_file "$campaign/$1" "$2" || die 2 "cannot write '$campaign/$1' (not allowed, or no space left?)"; }

# schedule_head: sets head_text, and schedule_values
schedule_head() {
    local most=0 each version report=yes planned_on=$n_nodes
    version=$("$NOISELAB_BIN/noiselab-gen" --version)
    [ -z "${no_report-}" ] || report=no
    [ -z "$submit" ] || planned_on=${nodes:--}
    find_tasks
    for each in "${launch_ns[@]}"; do ((each <= most)) || most=$each; done
    most=$(((most + 50000000) / 100000000 + start_s * 10))
    utc %Y-%m-%dT%H:%M:%SZ
    head_text="# schema: 1
# experiment: $experiment
# created_utc: $REPLY
# version: ${version#noiselab-gen }
# command: $command
# seed: $seed
# launches: ${#rows[@]}
# nodes_planned: $planned_on
# seconds_per_launch: $((most / 10)).$((most % 10))
# margin_percent: ${margin:--}
# report: $report
# treatment: ${treatment:--}
# interval_s: ${interval_s:--}${hosts:+$newline# hosts: $hosts}${schedule_notes:+$newline$schedule_notes}"
    take_head "$head_text"
}

# take_head TEXT: its keys, into schedule_values; a key that comes again has a line for each
take_head() {
    local line key
    declare -gA schedule_values=()
    while IFS= read -r line; do
        case $line in '# '*': '*) ;; *) continue ;; esac
        line=${line#'# '}
        key=${line%%: *} line=${line#*: }
        [ "$line" != - ] || line=''
        schedule_values[$key]+=${schedule_values[$key]+$newline}$line
    done <<<"$1"
}

# load_schedule: what $schedule says. Sets damaged, the number of the first line that is no launch of its own
load_schedule() {
    local LC_ALL=C line name has_head='' number=0 launch_pattern="^([A-Za-z0-9_-][A-Za-z0-9._-]*)(${tab}[^$tab]*){4}"
    local -A seen=()
    damaged='' head_text='' rows=()
    while IFS= read -r line || [ -n "$line" ]; do
        damaged=$((number += 1))
        case $has_head$line in
        '#'*) head_text+=${head_text:+$newline}$line ;;
        "$schedule_columns") has_head=yes ;;
        yes*)
            [[ $line =~ $launch_pattern ]] || break
            name=${BASH_REMATCH[1]}
            [ -z "${seen[$name]-}" ] || break
            seen[$name]=yes
            rows+=("$line")
            ;;
        *) break ;;
        esac
        damaged=''
    done <"$schedule"
    [ -n "$has_head" ] || damaged=$number
    take_head "$head_text"
    find_tasks
}

# read_schedule CAMPAIGN: checks that there is one that this noiselab and this experiment can go on with, and takes over what it recorded
read_schedule() {
    campaign=${1%/}
    schedule=$campaign/schedule.tsv
    [ -d "$campaign" ] || die 2 "'$campaign' is not a folder"
    [ -f "$schedule" ] ||
        die 2 "'$campaign' has no schedule.tsv: it was made by an older noiselab, or by noiselab detect, and cannot be resumed, only analysed"
    # words that stand in it are run
    [ "$EUID" != 0 ] || [ -z "$(find "$campaign" "$schedule" -prune ! -user 0)" ] ||
        die 2 "'$campaign' belongs to another user, and what it says would be run as root: go on with it as that user"
    load_schedule
    [ "${schedule_values[schema]-}" = 1 ] || die 2 "'$schedule': schema '${schedule_values[schema]-}' is not known here (1 is)"
    REPLY=${schedule_values[experiment]-}
    [ "$REPLY" = "$experiment" ] || die 2 "'$campaign' is of the experiment '$REPLY': noiselab run $REPLY --resume '$campaign'"
    [ -z "$damaged" ] || die 2 "'$schedule', line $damaged: not a launch of its own (launch, set, nodes, ranks, words, separated by tabs)"
    seed=${schedule_values[seed]-}
    margin=${schedule_values[margin_percent]-}
    treatment=${schedule_values[treatment]-}
    interval_s=${schedule_values[interval_s]-}
    analyses=${schedule_values[analyses]-}
    [ "${schedule_values[report]-}" = yes ] || no_report=yes
    take_private_schedule
    # a Slurm job that goes on has nodes of its own
    in_slurm_job || [ -n "$submit" ] || hosts=${hosts:-${schedule_values[hosts]-}}
    check_hosts
    case ${schedule_values[start_s]-} in *[!0-9]* | '') ;; *) start_s=${schedule_values[start_s]} ;; esac
    # plain words only; they become options
    local key
    for key in analyses seed margin_percent interval_s; do
        case ${schedule_values[$key]-} in *[!0-9A-Za-z.%,:=]*) die 2 "'$schedule': '${schedule_values[$key]}' is not a value of '$key'" ;; esac
    done
}

# take_private_schedule: where words of the schedule are secret, those as they are
take_private_schedule() {
    private=$campaign/schedule.private.tsv
    if [ -f "$private" ]; then
        [ "$EUID" != 0 ] || [ -n "$(find "$private" -prune -user 0)" ] || die 2 "'$private' belongs to another user, and would be run as root"
        schedule=$private
        load_schedule
    elif [ -n "$resume" ] && [[ ${rows[*]} == *'***'* ]]; then
        die 2 "'$schedule' has *** where passwords were, and '$private', which has them, is gone: it can only be analysed (--finish)"
    fi
}

# find_tasks: sets for each row launch_ns, its measuring time, and task_of, the number of its task in an array job (n_tasks in all). Launches that are
# compared within a set are one task, so that they run on the same nodes; any other launch is one by itself.
find_tasks() {
    local line set
    local -A task_of_set=()
    launch_ns=() task_of=() n_tasks=0
    for line in "${rows[@]}"; do
        REPLY=0
        case $line in *"$tab--seconds$tab"*)
            set=${line##*"$tab--seconds$tab"}
            nanoseconds "${set%%"$tab"*}"
            ;;
        esac
        launch_ns+=("$REPLY")
        set=${line#*"$tab"}
        set=${set%%"$tab"*}
        [ "$set" != - ] && [ -n "${task_of_set[$set]-}" ] || task_of_set[$set]=$((n_tasks += 1))
        task_of+=("${task_of_set[$set]}")
    done
}

# longest_seconds TASKS: sets REPLY to what the longest launch takes with its start, or with TASKS yes the longest task of an array
longest_seconds() {
    local i set most=0
    local -a sum=()
    for i in "${!rows[@]}"; do
        set=$i
        [ "$1" = no ] || set=${task_of[i]}
        sum[set]=$((${sum[set]-0} + launch_ns[i] + start_s * 1000000000))
        ((sum[set] <= most)) || most=${sum[set]}
    done
    REPLY=$((most / 1000000000 + 1))
}

# is_complete LAUNCH
is_complete() {
    [ -e "$campaign/$1/launch.json" ] || return
    json_values --pass-damaged "$campaign/$1/launch.json" -- ended || exit $?
    [ "$REPLY" = complete ]
}

# find_complete: sets is_whole for each launch of the campaign that is complete
find_complete() {
    local name ended
    local -a files=("$campaign"/*/launch.json)
    declare -gA is_whole=()
    [ -e "${files[0]}" ] || return 0
    json_values --pass-damaged "${files[@]}" -- launch ended || exit $?
    while IFS=$tab read -r name ended; do [ "$ended" != complete ] || is_whole[$name]=yes; done <<<"$REPLY"
}

# count_launches: sets n_planned, n_complete, and left_ns, the measuring time of those that are not complete
count_launches() {
    local i
    find_complete
    n_planned=${#rows[@]} n_complete=0 left_ns=0
    for i in "${!rows[@]}"; do
        if [ -n "${is_whole[${rows[i]%%"$tab"*}]-}" ]; then n_complete=$((n_complete + 1)); else left_ns=$((left_ns + launch_ns[i])); fi
    done
}
