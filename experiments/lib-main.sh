# What every experiment does with its options: ask, submit, plan and run, go on, or only answer. Sourced by lib.sh.
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared with the other parts
# What an experiment sets and has is in docs/guides/extending.md.

main() {
    quoted "$@"
    command="noiselab run $experiment${REPLY:+ ${REPLY//$newline/ }}"
    clear_options
    treatment='' app='' interval_s='' launch_id='' row_suffix='' plan_later='' analyses='' schedule_notes='' is_campaign_made=''
    # the program that asks and rehearses, what answers, what looks at the data before the end that a failed launch is, what changes the plan after a
    # launch (empty: nothing), and how the answer of a job is to be written
    program=noiselab-detect answered_by=answer_verdicts judges_partial='' plans_again='' answer_options=''
    end_on_signals
    default_options
    with_options begin "$@"
}

begin() {
    local word
    local -a handed=()
    for word; do
        [ "$word" = --dry-run ] || handed+=("$word")
    done
    quoted "${handed[@]}"
    words_for_detector=$REPLY
    [ -z "$shows" ] || exec "$NOISELAB_BIN/$program" "$@"
    [ -z "$only" ] || whole --only "$only"
    ! in_slurm_job || say_het_job
    if [ -n "$resume$finish" ]; then
        go_on_recorded "$@"
    else
        [ -z "$only" ] || die 2 '--only: belongs to --resume DIR'
        refuse_without_submit
        check_hosts
        utc %Y%m%dT%H%M%SZ
        campaign=${out:-noiselab-$experiment-$REPLY}
        [ -z "$margin" ] || is_margin "$margin"
        [ "$experiment" = acceptance ] || [ "$experiment${stop_when-}${ends_when-}${sweep-}${agents-}" = agent ] || margin_of_one_node
        [ "$experiment" = acceptance ] || [ -z "$margin" ] || ask_analysis --margin "$margin"
        [ -z "$stop_when" ] || [ -z "$margin" ] || set -- "$@" --margin "$margin"
        refuse_scheduled
        find_nodes
        check_options "$@"
    fi
}

# ask_analysis OPTION...: ends where the analysis would refuse these options, which it alone reads, after all was measured. Only asked where there are
# some: R takes a quarter of a second to start.
ask_analysis() {
    local word=$analysis
    [ "$experiment" != agent ] || word=agent
    if command -v Rscript >/dev/null; then
        # shellcheck disable=SC2086 # no word, or one
        "$NOISELAB_BIN/noiselab-analyze" --check-options $word "$@" || exit 2
    else
        quoted "$@"
        note "there is no R here: $REPLY is checked when the campaign is analysed"
    fi
}

# refuse_without_submit: options for sbatch mean nothing here
refuse_without_submit() {
    [ -z "$submit" ] || return 0
    refuse_given ': belongs to --submit' --array --wait --partition --time --sbatch
    [ -z "$nodes" ] || knows_nodes || die 2 '--nodes: belongs to --submit, to a Slurm job, or to --hosts'
}

# find_nodes: n_nodes, cores and the array sets_of_nodes (- all) for the plan. A job that is only submitted has none yet.
find_nodes() {
    sets_of_nodes=(-)
    [[ $node_sets != accepted:* ]] || [ -r "${node_sets#*:}/verdict.json" ] ||
        die 2 "--node-sets: '${node_sets#*:}' has no verdict.json: it is no campaign of noiselab run acceptance, or has not ended"
    [ -z "$nodes" ] || whole --nodes "$nodes"
    if [ -n "$submit" ]; then
        n_nodes=${nodes:-1} cores=0
    else
        find_cpus
        [ -z "$nodes" ] || take_nodes --nodes "$nodes" 1
        [ -z "$node_sets" ] || knows_nodes || die 2 '--node-sets: needs a Slurm job with several nodes, or --hosts'
    fi
    case $submit,$node_sets in
    , | yes,) ;;
    yes,accepted:*) plan_later='the nodes are known in the job' ;;
    ,accepted:*) accepted_nodes "${node_sets#*:}" ;;
    *,*[!0-9]*) named_nodes ;;
    yes,*) plan_later='the nodes are known in the job' ;;
    *)
        take_nodes --node-sets "$node_sets"
        [ $((n_nodes % node_sets)) = 0 ] ||
            note "--node-sets $node_sets: $((n_nodes % node_sets)) of the $n_nodes nodes are left over and not used"
        ;;
    esac
    n_node_sets=${#sets_of_nodes[@]}
    printf -v lines_of_sets '%s\n' "${sets_of_nodes[@]}"
    lines_of_sets=${lines_of_sets%"$newline"}
}

# take_nodes NAME K [N]: the first N sets of K nodes, as many as there are; all nodes are -
take_nodes() {
    local i IFS=,
    local -a names
    whole "$1" "$2"
    [ "$2" -le "$n_nodes" ] || die 2 "$1: $2 nodes asked for, and $(whose_nodes) has $n_nodes"
    [ "$1" != --nodes ] || [ "$2" -lt "$n_nodes" ] || return 0
    mapfile -t names <<<"$all_nodes"
    sets_of_nodes=()
    for ((i = 0; i < ${3:-$((n_nodes / $2))}; i++)); do sets_of_nodes+=("${names[*]:i * $2:$2}"); done
}

# named_nodes: the sets of --node-sets 'n1,n2;n3,n4'
named_nodes() {
    local set
    sets_of_nodes=()
    while IFS= read -r set; do
        names_of "--node-sets '$node_sets'" "$set"
        sets_of_nodes+=("${REPLY//$newline/,}")
    done <<<"${node_sets//;/$newline}"
    set=${sets_of_nodes[*]}
    [ -n "$submit" ] || known_to_job --node-sets "${set// /,}"
}

# accepted_nodes DIR: the nodes but those that an acceptance campaign found worse; what is left out is said
accepted_nodes() {
    local name kept='' left_out='' unjudged='' verdict
    local -A verdict_of=()
    json_values "$1/verdict.json" -- 'nodes.*.host' 'nodes.*.verdict' || die 2 "--node-sets: '$1/verdict.json' names no nodes"
    while IFS=$tab read -r name verdict; do
        [ -z "$name" ] || verdict_of[$name]=$verdict
    done <<<"$REPLY"
    for name in $all_nodes; do
        case ${verdict_of[$name]-} in
        fail) left_out+=,$name ;;
        *) kept+=,$name ;;
        esac
        [ -n "${verdict_of[$name]-}" ] || unjudged+=,$name
    done
    [ -n "$kept" ] || die 2 "--node-sets: '$1' shows every node of $(whose_nodes) as worse"
    left_out=${left_out#,}
    note "--node-sets: left out, as worse in '$1': ${left_out:-no node of $(whose_nodes)}"
    [ -z "$unjudged" ] || note "--node-sets: not judged there, and taken: ${unjudged#,}"
    sets_of_nodes=("${kept#,}")
}

# known_to_job NAME LIST: refuses nodes that are not of this job, or of --hosts; - is all of them. No launcher is to look for them elsewhere.
known_to_job() {
    local name
    [ "$2" != - ] || return 0
    knows_nodes || die 2 "$1: runs on $2, nodes of a Slurm job, and this is none (without Slurm: --hosts)"
    for name in ${2//,/ }; do
        case $newline$all_nodes$newline in
        *"$newline$name$newline"*) ;;
        *) die 2 "$1: '$name' is not a node of $(whose_nodes) (${all_nodes//$newline/,})" ;;
        esac
    done
}

# n_nodes_of LIST: sets REPLY to how many nodes a list has, - all
n_nodes_of() {
    REPLY=${1//[!,]/}
    REPLY=$((${#REPLY} + 1))
    [ "$1" != - ] || REPLY=$n_nodes
}

# fits NAME RANKS: refuses a number of ranks for which there are no cores
fits() {
    n_nodes_of "${sets_of_nodes[0]}"
    if [ "$cores" = 0 ]; then whole "$1" "$2"; else spread "$1" "$2" "$REPLY"; fi
}

# ranks_column: sets ranks_planned to --ranks, the cores of this machine, or - where the nodes decide
ranks_column() {
    ranks_planned=-
    if [ -n "$ranks" ]; then
        fits --ranks "$ranks"
        ranks_planned=$ranks
    elif [ -z "$submit" ]; then
        if knows_nodes; then same_cores; else all_ranks 1 && ranks_planned=$REPLY; fi
    fi
}

# list_of_ranks FROM: --ranks as a list, or powers of two from FROM up to all cores
list_of_ranks() {
    local count
    if [ -z "$ranks" ]; then
        [ -z "$submit" ] || die 2 "--ranks: give the numbers of ranks; the cores of the nodes are not known before the job starts"
        same_cores
        all_ranks "$n_nodes"
        powers_of_two "$1" "$REPLY"
        ranks=$REPLY
    fi
    is_list --ranks "$ranks" 1,2
    for count in ${ranks//,/ }; do fits --ranks "$count"; done
}

# on_each_set WORD...: sets REPLY to a line "WORD nodes" for each of the words on each set of nodes
on_each_set() {
    local word
    local -a all=()
    for word; do all+=("${sets_of_nodes[@]/#/$word }"); done
    printf -v REPLY '%s\n' "${all[@]}"
    REPLY=${REPLY%"$newline"}
}

# set_of_nodes ROUND NODES: sets set_number, of the set of launches. Off and on are compared within a set, and so on the same nodes: each set of nodes
# is a set of its own in every round.
set_of_nodes() {
    set_number=0
    while [ "${sets_of_nodes[set_number]}" != "$2" ]; do set_number=$((set_number + 1)); done
    set_number=$((($1 - 1) * n_node_sets + set_number + 1))
}

# rehearse WORDS: options are checked once, before any launcher: a wrong one gives one line, not one per rank and the launcher's own. What the
# program plans is in $scratch/rehearsal.json; with --dry-run, rehearsal is what the user is shown.
rehearse() {
    make_scratch
    [ -n "$dry_run" ] || [ "$program" = noiselab-accept ] || ! was_given --json ||
        die 2 "--json: belongs to --dry-run; for results as JSON: noiselab analyze --json DIR"
    rehearsal_of --json --out "$campaign" "$@" >"$scratch/rehearsal.json" 2>"$scratch/rehearsal.err" || {
        cat "$scratch/rehearsal.err" >&2
        exit 2
    }
    [ -n "$dry_run" ] || return 0
    # with the user's own --json, if it was given
    rehearsal=$(rehearsal_of --out "$campaign" "$@") || exit
}

# rehearsal_of WORDS
rehearsal_of() {
    if [ "$program" = noiselab-detect ]; then handing_on "$NOISELAB_BIN/$program" --dry-run "$@"; else "$NOISELAB_BIN/$program" --dry-run "$@"; fi
}

# rehearsed PATH...: sets REPLY to values of the rehearsal
rehearsed() { json_values "$scratch/rehearsal.json" -- "$@" || exit; }

# go_on WORDS: the words are checked
go_on() {
    if [ -n "$submit" ]; then
        submit_campaign "$@"
    elif [ -n "$dry_run" ]; then
        printf '%s\n' "$rehearsal"
    else
        choose_launcher
        plan "$@"
        make_campaign
        keep_schedule
        run_and_answer
    fi
}

# go_on_recorded WORDS: --resume and --finish
go_on_recorded() {
    for name in $given; do
        case $resume_options in
        *" $name "*) ;;
        *) die 2 "$name: a campaign goes on as it was planned; only --no-report, --launcher, --hosts and options of the job may be given" ;;
        esac
    done
    [ $# = 0 ] || [ "$*" = --dry-run ] || die 2 "'$1': a campaign goes on as it was planned; leave it out"
    [ -z "$resume" ] || [ -z "$finish" ] || die 2 '--resume and --finish cannot be combined'
    refuse_without_submit
    [ -z "$nodes" ] || [ -n "$submit" ] || die 2 '--nodes: a campaign goes on with the nodes of its plan; leave it out, or submit a job (--submit)'
    read_schedule "$resume$finish"
    count_launches
    if [ -n "$finish" ]; then
        answer
    elif [ -n "$submit" ]; then
        submit_resume
    else
        [ -z "$only" ] || [ "$only" -le "$n_tasks" ] || die 2 "--only: '$campaign' has $n_tasks tasks (launches, or sets of them)"
        note "$n_complete of $n_planned planned launches are complete"
        [ -z "$dry_run" ] || exit 0
        run_and_answer
    fi
}

run_and_answer() {
    run_schedule
    # one task is no answer: that is for --finish
    [ -z "$only" ] || exit 0
    answer
}

# answer: analysis and report; the status is the answer's
answer() {
    # nothing is run any more: passwords are no longer needed
    [ "$n_complete" != "$n_planned" ] || rm -f "$campaign/schedule.private.tsv"
    command -v Rscript >/dev/null ||
        die 2 "the data are in '$campaign', but R is missing here: analyse them where R is (noiselab run $experiment --finish '$campaign')"
    "$answered_by"
}

# answer_verdicts: of launches of the detector
answer_verdicts() {
    # the first analysis has the question, and its status is the answer's
    asked=${analyses%%,*}
    [ "${asked:-verdicts}" = verdicts ] || analysis=$asked
    set -- "$campaign"
    case $analysis in
    advise)
        try_rules
        verify_program
        rm -f "$campaign/advice.rules" "$campaign/advice.rules.han" # of an earlier answer, or what was tried
        set -- --write "rules=$campaign/advice.rules" ${margin:+--margin "$margin"} "$@"
        ;;
    '' | agent | intervals) [ -z "$margin" ] || set -- --margin "$margin" "$@" ;;
    esac
    # shellcheck disable=SC2086 # no word, or one
    "$NOISELAB_BIN/noiselab-analyze" $analysis "$@"
    verdict=$?
    # 1 and 3 are answers where a question was asked
    case $verdict in
    0) ;;
    1 | 3) [ -n "$margin" ] || [ "$analysis" = stability ] || [ "$analysis" = advise ] || exit "$verdict" ;;
    *) exit "$verdict" ;;
    esac
    # what one of the others cannot say is no reason to keep the rest, and the report, back
    for word in ${analyses//,/ }; do
        [ "$word" != "${analyses%%,*}" ] || continue
        echo
        set --
        [ "$word" = verdicts ] || set -- "$word"
        "$NOISELAB_BIN/noiselab-analyze" "$@" "$campaign" || note "noiselab analyze $word ended with status $?; the other analyses are valid"
    done
    case $asked in agent | intervals)
        quoted "$campaign"
        printf '\nthe load that is like it: noiselab analyze equivalent %s\n' "$REPLY"
        ;;
    esac
    [ -n "$no_report" ] || "$NOISELAB_BIN/noiselab-report" --out "$campaign/report.html" "$campaign" || exit $?
    [ "$n_complete" = "$n_planned" ] || die 2 "only $n_complete of $n_planned planned launches are complete; $(how_to_go_on)"
    exit "$verdict"
}
