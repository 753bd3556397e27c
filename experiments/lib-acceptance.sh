# The acceptance campaign: orders of nodes, the self-check, limits and the verdict that is kept. Sourced by acceptance.sh.
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared with the other parts

# check_limits: what is judged by is known to be readable before anything runs; its keys and units are the analysis's to know
check_limits() {
    local -a words=(${margin:+--margin "$margin"})
    schedule_notes=''
    if [ -n "$limits" ]; then
        readable --limits "$limits" ' (noiselab run acceptance --write-limits prints a template)'
        words+=(--limits "$limits")
        schedule_notes="# limits: limits.conf"
    fi
    if [ -n "$classes" ]; then
        readable --classes "$classes"
        words+=(--classes "$classes")
        schedule_notes+="${schedule_notes:+$newline}# classes: classes.conf"
    fi
    while IFS= read -r reference; do
        [ -n "$reference" ] || continue
        ls "$reference"/*/accept.csv >/dev/null 2>&1 ||
            die 2 "--reference: '$reference' is not a campaign of noiselab run acceptance"
        # a batch job runs elsewhere
        reference=$(cd "$reference" && pwd)
        case $reference in *"$newline"*) die 2 '--reference: a name with a line break cannot be kept in the schedule' ;; esac
        words+=(--reference "$reference")
        schedule_notes="$schedule_notes${schedule_notes:+$newline}# reference: $reference"
    done <<<"$references"
    [ ${#words[@]} = 0 ] || ask_analysis "${words[@]}"
}

# find_used_nodes: sets n_used_nodes, the nodes of a launch (of its first set), which are fewer than there are for a few or an odd number of ranks
find_used_nodes() {
    n_used_nodes=$n_nodes
    if [ -n "$nodes" ] && [ "$nodes" -lt "$n_nodes" ]; then n_used_nodes=$nodes; fi
    if [ "${sets_of_nodes[0]}" != - ]; then
        n_nodes_of "${sets_of_nodes[0]}"
        n_used_nodes=$REPLY
    fi
    [ -n "$ranks" ] || return 0
    n_there=$n_used_nodes
    spread --ranks "$ranks" "$n_there"
    n_used_nodes=$use_nodes
    [ "$n_used_nodes" = "$n_there" ] ||
        note "--ranks $ranks: the same number on each node takes $n_used_nodes of the $n_there nodes; the others are not checked"
}

# plan_time: where nothing says how long, and there is a reference, so long that a healthy node passes by it with probability 0.95, 10 minutes at most; sets
# seconds, and says what such a run decides
plan_time() {
    [ -n "$references" ] && command -v Rscript >/dev/null || return 0
    [ -n "$seconds$quick$full" ] || is_planned=yes
    [ -n "$full" ] && share=600s || share=36s
    set -- acceptance --launches "$launches" ${limits:+--limits "$limits"}
    [ -n "$is_planned" ] || set -- "$@" --seconds "${seconds:-$share}"
    case $margin in '' | *:*) ;; *) set -- "$@" --margin "$margin" ;; esac
    while IFS= read -r reference; do
        [ -z "$reference" ] || set -- "$@" --reference "$reference"
    done <<<"$references"
    make_scratch
    # a reference that nothing can be learnt from is said when the campaign is judged, too
    "$NOISELAB_BIN/noiselab-plan" "$@" --json >"$scratch/plan.json" || return 0
    json_values "$scratch/plan.json" -- measuring_s || exit
    [ -z "$is_planned" ] || seconds=$(awk -v s="$REPLY" 'BEGIN { printf "%.0fs", s < 1 ? 1 : s }')
    json_values "$scratch/plan.json" -- 'says.*' || exit
    printf '%s\n' "${REPLY//$'\t'/$newline}" >&2
}

# share_time: the time over all launches; sets each_ms, repetitions and total_s
share_time() {
    # a launch of noiselab-accept finds the lengths of its operations, too
    start_s=5
    local all_s=36 each=12
    [ -z "$full" ] || all_s=600 each=24
    case $seconds in *[!0-9.a-z]* | [!0-9.]*) die 2 "--seconds: '$seconds' is not a time (try 60s, 10min)" ;; esac
    nanoseconds "${seconds:-$all_s}"
    n_launches=$((launches * n_node_sets))
    each_ms=$((REPLY / 1000000 / launches))
    [ "$each_ms" -gt 0 ] || die 2 "--seconds: '$seconds' is no time for $launches launches"
    repetitions=${repetitions:-$((each / launches < 4 ? 4 : each / launches))}
    total_s=$(((n_launches * each_ms) / 1000 + n_launches * start_s))
}

# decide_self_check: sets self_check (yes, or empty), and says why not
decide_self_check() {
    local ms reason=''
    self_check=''
    if [ -n "$no_self_check" ]; then
        reason='not asked for'
    elif [ "$n_used_nodes" -lt 2 ]; then
        reason='it takes two nodes: on one there is no other node that could be blamed'
        note "no self-check: $reason"
    else
        self_check=yes
        self_check_half "$self_check_seconds"
        "$NOISELAB_BIN/noiselab-detect" --dry-run --op empty --levels "$self_check_level" --half-period "$REPLY" \
            --seconds "$self_check_seconds" >/dev/null || exit 2
        # ten times the load in an eighth of the time (3 s at least), where that is not all of a CPU
        control_level=$(awk -v level="$self_check_level" 'BEGIN { if (10 * level <= 50) printf "%g", 10 * level }')
        nanoseconds "$self_check_seconds"
        ms=$((REPLY / 8000000))
        control_seconds=$((ms < 3000 ? 3000 : ms))ms
        [ -z "$control_level" ] || total_s=$((total_s + n_node_sets * (${control_seconds%ms} / 1000 + start_s)))
        total_s=$((total_s + n_node_sets * (REPLY / 1000000000 + start_s)))
    fi
    schedule_notes+="${schedule_notes:+$newline}# self_check: ${self_check:-no: $reason}$newline# start_s: $start_s"
}

# self_check_half TIME: sets REPLY: long halves: nodes that share a CPU take turns on it in slices of milliseconds, which a half does not hold whole
self_check_half() {
    nanoseconds "$1"
    local ms=$((REPLY / 40000000))
    REPLY=$((ms < 100 ? 100 : (ms > 1000 ? 1000 : ms)))ms
}

# self_check_row LEVEL TIME: the load is on one node, and of a kind, drawn from the seed and the launch; the operation needs no other node, so that ranks
# that share a CPU do not wait for each other's turn
self_check_row() {
    shuffled "$((seed + row_number))" 1 "$(seq "$n_used_nodes")"
    self_check_half "$2"
    row - "$nodes_of_launch" "$ranks_planned" --noise-node="${shuffled[0]#* }" --op empty --kind "$(drawn_kind)" --levels "$1" --half-period "$REPLY" \
        --seconds "$2" --seed "$((seed + row_number))"
}

# nth_order TURN OF NODES: sets REPLY to "first:step" of an order of so many nodes: it begins with another node each time, and where the number of nodes
# allows it each node has other neighbours, too: steps that have no divisor in common with the number, up to half of it, for a step and its complement
# are the same ring
nth_order() {
    local s a b r
    local -a steps=()
    for ((s = 1; s == 1 || s <= $3 / 2; s++)); do
        for ((a = s, b = $3; b; r = a % b, a = b, b = r)); do :; done
        [ "$a" != 1 ] || steps+=("$s")
    done
    REPLY=$(($1 * $3 / $2)):${steps[$1 % ${#steps[@]}]}
}

# drawn_kind: spin, or cache where all runs on this machine, and it has one
drawn_kind() {
    # elsewhere nobody knows; status 1: it ran, if for another time than asked
    if [ $(((seed + row_number) % 2)) -eq 1 ] && [ -z "$submit$hosts" ] && ! in_slurm_job; then
        "$NOISELAB_BIN/noiselab-gen" --kind cache --level 0.1 --duration 20ms >/dev/null 2>&1
        [ $? -gt 1 ] || { echo cache && return; }
    fi
    echo spin
}

# answer_acceptance: the verdict into the campaign, and to the user as asked for; its status is the answer's
answer_acceptance() {
    judge
    case $verdict in 0 | 1 | 3) ;; *) exit "$verdict" ;; esac
    [ -n "$no_report" ] || judged_by "$NOISELAB_BIN/noiselab-report" --out "$campaign/report.html" >&2 || exit $?
    [ "$n_complete" = "$n_planned" ] ||
        die 2 "only $n_complete of $n_planned planned launches are complete$(lost_launches); $(how_to_go_on)"
    exit "$verdict"
}

# lost_launches: launches that are not complete, and the nodes they lost, as part of a message
lost_launches() {
    while read -r launch lost; do
        [ -z "$launch" ] || is_complete "$launch" || printf ' (%s lost %s)' "$launch" "${lost//,/, }"
    done <<<"${schedule_values[lost]-}"
}

# judge_what_ran: before the end for a launch that failed: what was measured until then is worth an answer
judge_what_ran() {
    ls "$campaign"/*/accept.csv >/dev/null 2>&1 && command -v Rscript >/dev/null || return 0
    note 'a launch did not end as planned; what was measured until then:'
    judge
}

# judged_by COMMAND...: a command of the analysis with the campaign, and what the campaign is judged by
judged_by() {
    set -- "$@" "$campaign"
    [ -z "${schedule_values[limits]-}" ] || set -- "$@" --limits "$campaign/limits.conf"
    [ -z "${schedule_values[classes]-}" ] || set -- "$@" --classes "$campaign/classes.conf"
    [ -z "$margin" ] || set -- "$@" --margin "$margin"
    while IFS= read -r reference; do
        [ -z "$reference" ] || set -- "$@" --reference "$reference"
    done <<<"${schedule_values[reference]-}"
    "$@"
}

# judge: sets verdict, the status of the analysis
judge() {
    make_scratch
    rm -rf "$scratch/nodes"
    judged_by "$NOISELAB_BIN/noiselab-analyze" acceptance --json --write "nodes=$scratch/nodes" ${junit:+--write "junit=$junit"} >"$scratch/verdict.json"
    verdict=$?
    case $verdict in 0 | 1 | 3) ;; *) return ;; esac
    keep verdict.json "$(<"$scratch/verdict.json")"
    mkdir -p "$campaign/nodes" || die 2 "cannot write '$campaign/nodes'"
    # each file in one step: a health checker may read it at this moment
    for file in "$scratch"/nodes/*.txt; do
        [ -f "$file" ] || continue
        replace_file "$campaign/nodes/${file##*/}" "$(<"$file")" || die 2 "cannot write '$campaign/nodes' (no space left?)"
    done
    if [ -n "$json" ]; then
        cat "$scratch/verdict.json"
    else
        judged_by "$NOISELAB_BIN/noiselab-analyze" acceptance ${lines:+--lines}
    fi
    return 0
}
