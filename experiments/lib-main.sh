# What every experiment does with its options: ask, submit, plan and run, go on, or only answer. Sourced by lib.sh.
# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # variables are shared with the other parts
#
# An experiment sets `experiment`, `analysis` (the word of noiselab analyze, may be empty) and `own_options`, has the functions
#   usage                    its own options
#   refuse_option NAME       ends for options that the experiment decides itself
#   default_options          sets those that are not empty without being given
#   check_options WORDS      checks values, and ends with: go_on WORDS (the detector's words of all launches)
#   plan_launches WORDS      calls `row` for each launch
# and ends with: main "$@"

main() {
    command=$(printf 'noiselab run %s' "$experiment" && for word in "$@"; do printf ' %s' "$(quoted "$word")"; done)
    command=$(printf '%s' "$command" | tr '\n' ' ')
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
    words_for_detector=$(for word in "$@"; do [ "$word" = --dry-run ] || printf ' %s' "$(quoted "$word")"; done)
    [ -z "$shows" ] || exec "$NOISELAB_BIN/$program" "$@"
    [ -z "$only" ] || whole --only "$only"
    ! in_slurm_job || say_het_job
    if [ -n "$resume$finish" ]; then
        go_on_recorded "$@"
    else
        [ -z "$only" ] || die 2 '--only: belongs to --resume DIR'
        refuse_without_submit
        check_hosts
        campaign=${out:-noiselab-$experiment-$(date -u +%Y%m%dT%H%M%SZ)}
        [ -z "$stop_when" ] || [ -z "$margin" ] || set -- "$@" --margin "$margin"
        refuse_scheduled
        find_nodes
        check_options "$@"
    fi
}

# refuse_without_submit: options for sbatch mean nothing here
refuse_without_submit() {
    [ -z "$submit" ] || return 0
    for name in --array --wait --partition --time --sbatch; do
        if was_given "$name"; then die 2 "$name: belongs to --submit"; fi
    done
    [ -z "$nodes" ] || knows_nodes || die 2 '--nodes: belongs to --submit, to a Slurm job, or to --hosts'
}

# find_nodes: n_nodes, cores and sets of nodes (each on a line; - all) for the plan. A job that is only submitted has none yet.
find_nodes() {
    sets_of_nodes=- named_sets=$node_sets nodes_per_launch='' accepted_by=''
    case $node_sets in
    accepted:*) accepted_by=${node_sets#*:} named_sets='' ;;
    '' | *[!0-9]*) ;;
    *) nodes_per_launch=$node_sets named_sets='' ;;
    esac
    [ -z "$accepted_by" ] || [ -r "$accepted_by/verdict.json" ] ||
        die 2 "--node-sets: '$accepted_by' has no verdict.json: it is no campaign of noiselab run acceptance, or has not ended"
    if [ -n "$submit" ]; then
        n_nodes=${nodes:-1} cores=0
        [ -z "$nodes_per_launch$accepted_by" ] || plan_later='the nodes are known in the job'
    else
        find_cpus
    fi
    [ -z "$nodes" ] || whole --nodes "$nodes"
    [ -n "$submit" ] || [ -z "$nodes" ] || [ "$nodes" -le "$n_nodes" ] || die 2 "--nodes: $nodes nodes asked for, and $(whose_nodes) has $n_nodes"
    if [ -n "$nodes" ] && [ -z "$submit" ] && [ "$nodes" -lt "$n_nodes" ]; then
        sets_of_nodes=$(node_names | head -n "$nodes" | paste -sd , -)
    fi
    [ -z "$node_sets" ] || [ -n "$submit" ] || knows_nodes ||
        die 2 '--node-sets: needs a Slurm job with several nodes, or --hosts'
    if [ -n "$named_sets" ]; then
        sets_of_nodes=$(printf '%s\n' "$named_sets" | tr ';' '\n' | while IFS= read -r set; do
            set=$(names_of "--node-sets '$node_sets'" "$set") || exit 2
            printf '%s\n' "$set" | paste -sd , -
        done) || exit 2
        [ -n "$submit" ] || known_to_job --node-sets "$(printf '%s\n' "$sets_of_nodes" | paste -sd , -)"
    elif [ -n "$accepted_by" ] && [ -z "$submit" ]; then
        sets_of_nodes=$(accepted_nodes "$accepted_by") || exit 2
    elif [ -n "$nodes_per_launch" ] && [ -z "$submit" ]; then
        whole --node-sets "$nodes_per_launch"
        [ "$nodes_per_launch" -le "$n_nodes" ] || die 2 "--node-sets: $nodes_per_launch nodes asked for, and $(whose_nodes) has $n_nodes"
        [ $((n_nodes % nodes_per_launch)) = 0 ] ||
            note "--node-sets $nodes_per_launch: $((n_nodes % nodes_per_launch)) of the $n_nodes nodes are left over and not used"
        sets_of_nodes=$(node_names | awk -v k="$nodes_per_launch" '{ set = set (set == "" ? "" : ",") $1 } NR % k == 0 { print set; set = "" }')
    fi
    n_node_sets=$(printf '%s\n' "$sets_of_nodes" | wc -l)
}

# accepted_nodes DIR: the nodes but those that an acceptance campaign found worse, with commas; what is left out is said
accepted_nodes() {
    judged=$(json_values "$1/verdict.json" -- 'nodes.*.host' 'nodes.*.verdict') || die 2 "--node-sets: '$1/verdict.json' names no nodes"
    worse=$(printf '%s\n' "$judged" | awk '$2 == "fail" { print $1 }')
    kept=$(node_names | grep -vxF -- "$worse" | paste -sd , -)
    [ -n "$kept" ] || die 2 "--node-sets: '$1' shows every node of $(whose_nodes) as worse"
    left_out=$(node_names | grep -xF -- "$worse" | paste -sd , -)
    note "--node-sets: left out, as worse in '$1': ${left_out:-no node of $(whose_nodes)}"
    unjudged=$(node_names | grep -vxF -- "$(printf '%s\n' "$judged" | cut -f 1)" | paste -sd , -)
    [ -z "$unjudged" ] || note "--node-sets: not judged there, and taken: $unjudged"
    echo "$kept"
}

# known_to_job NAME LIST: refuses nodes that are not of this job, or of --hosts; - is all of them. No launcher is to look for them elsewhere.
known_to_job() {
    [ "$2" != - ] || return 0
    knows_nodes || die 2 "$1: runs on $2, nodes of a Slurm job, and this is none (without Slurm: --hosts)"
    strange=$({ node_names && echo && words "$2" | tr ' ' '\n'; } | awk '!NF { asked = 1; next } !asked { own[$1] = 1; next } !($1 in own) { print $1; exit }')
    [ -z "$strange" ] || die 2 "$1: '$strange' is not a node of $(whose_nodes) ($(node_names | paste -sd , -))"
}

# n_nodes_of_set: how many nodes the first set has
n_nodes_of_set() { if [ "$sets_of_nodes" = - ]; then echo "$n_nodes"; else printf '%s\n' "$sets_of_nodes" | head -n 1 | tr ',' '\n' | wc -l; fi; }

# fits NAME RANKS: refuses a number of ranks for which there are no cores
fits() { if [ "$cores" = 0 ]; then whole "$1" "$2"; else spread "$1" "$2" "$(n_nodes_of_set)"; fi; }

# ranks_column: --ranks, the cores of this machine, or - where the nodes decide
ranks_column() {
    if [ -n "$ranks" ]; then
        fits --ranks "$ranks"
        ranks_planned=$ranks
    elif [ -n "$submit" ]; then
        ranks_planned=-
    elif knows_nodes; then
        same_cores
        ranks_planned=-
    else
        ranks_planned=$(all_ranks 1) || exit 2
    fi
}

# list_of_ranks FROM: --ranks as a list, or powers of two from FROM up to all cores
list_of_ranks() {
    if [ -z "$ranks" ]; then
        [ -z "$submit" ] || die 2 "--ranks: give the numbers of ranks; the cores of the nodes are not known before the job starts"
        same_cores
        ranks=$(powers_of_two "$1" "$(all_ranks "$n_nodes")") || exit 2
    fi
    is_list --ranks "$ranks" 1,2
    # shellcheck disable=SC2046 # lists are meant to be split
    for count in $(words "$ranks"); do fits --ranks "$count"; done
}

# configurations_of_ranks: a line "ranks nodes" for each number of ranks and each set of nodes
configurations_of_ranks() {
    # shellcheck disable=SC2046
    for count in $(words "$ranks"); do printf '%s\n' "$sets_of_nodes" | sed "s/^/$count /"; done
}

# arms_on_nodes ARMS: a line "arm nodes" for each arm on each set of nodes
arms_on_nodes() {
    for arm in "$@"; do printf '%s\n' "$sets_of_nodes" | sed "s/^/$arm /"; done
}

# set_of_nodes ROUND NODES: number of the set of launches. Off and on are compared within a set, and so on the same nodes: each set of nodes is a
# set of its own in every round.
set_of_nodes() { echo $((($1 - 1) * n_node_sets + $(printf '%s\n' "$sets_of_nodes" | grep -nxF -- "$2" | head -n 1 | cut -d : -f 1))); }

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
    rehearsal=$(rehearsal_of --out "$campaign" "$@") || exit $?
}

# rehearsal_of WORDS
rehearsal_of() {
    if [ "$program" = noiselab-detect ]; then handing_on "$NOISELAB_BIN/$program" --dry-run "$@"; else "$NOISELAB_BIN/$program" --dry-run "$@"; fi
}

# rehearsed PATH...: values of the rehearsal
rehearsed() { json_values "$scratch/rehearsal.json" -- "$@"; }

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
        n_tasks=$(launch_times "$schedule" | awk '$3 > n { n = $3 } END { print n + 0 }')
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
    answer_further
    case $asked in
    agent | intervals) printf '\nthe load that is like it: noiselab analyze equivalent %s\n' "$(quoted "$campaign")" ;;
    esac
    [ -n "$no_report" ] || "$NOISELAB_BIN/noiselab-report" --out "$campaign/report.html" "$campaign" || exit $?
    [ "$n_complete" = "$n_planned" ] || die 2 "only $n_complete of $n_planned planned launches are complete; $(how_to_go_on)"
    exit "$verdict"
}

# answer_further: the analyses after the first one. What one of them cannot say is no reason to keep the others, and the report, back.
answer_further() {
    case $analyses in *,*) ;; *) return 0 ;; esac
    for word in $(words "${analyses#*,}"); do
        echo
        set --
        [ "$word" = verdicts ] || set -- "$word"
        "$NOISELAB_BIN/noiselab-analyze" "$@" "$campaign" || note "noiselab analyze $word ended with status $?; the other analyses are valid"
    done
}
