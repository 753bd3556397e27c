#!/bin/bash
# acceptance: is this cluster, or machine, quiet and correct enough, and which node is not
set -u
# shellcheck source=experiments/lib.sh
. "$NOISELAB_LIBEXEC/lib.sh"
# shellcheck source=experiments/lib-acceptance.sh
. "$NOISELAB_LIBEXEC/lib-acceptance.sh"

experiment=acceptance
analysis=acceptance
own_options='
value checks
flag quick full
value seconds repetitions limits classes
list reference=references
value self-check=self_check_wanted
flag json lines
value junit
'
# how an answer is written may differ each time
resume_options="$resume_options--json --lines --junit "

usage() {
    cat <<'EOT'
Usage: noiselab run acceptance [OPTIONS]

Runs noiselab-accept on all allowed cores of this machine, of the nodes of a Slurm job, or of --hosts: several launches,
each with the nodes in another order, so that a slow node is not confused with a slow place in the network; a self-check;
then the verdict, by check and by node.

What is checked:
  --list checks     the checks, their units and what they measure
  --checks LIST     some of them (default: all but those on request)
  --quick           36 s of measuring in all, few message sizes (default; with --reference so long that a healthy node passes
                    with probability 0.95, by noiselab plan acceptance, 10 minutes at most)
  --full            ten minutes
  --seconds TIME    measuring time of all launches of the checks together, in place of that
  --wait-quiet TIME before each launch, wait up to this long until the CPUs of the nodes are quiet; say who keeps them busy
  --repetitions N   of each check in each launch (at least 2)
  --launches N      each with another order of nodes, while there are others (default: one per node, at most 3)
  --ranks N         number of ranks (default: one per allowed core)
  --seed N          seed of all random orders and of the choice of the node of the self-check (default: from the clock)

Criteria (without the first three wrong data fail, and a node that is worse than the others, which takes three nodes;
the noise is measured and printed with who makes it, and not judged):
  --margin MARGIN   5%:nodes=1000,every=1ms: how much slower the noise of each node may make a program on so many nodes
                    that synchronise so often; 5%: by how much a node may be worse than the others, or slower alone
  --limits FILE     your own limits, checked before anything runs
  --reference DIR   limits learnt from an acceptance campaign that was good (may be given again)
  --classes FILE    classes of nodes that may be compared, a line CLASS NODE... each (default: found by hardware and network)
  --write-limits    print a template of a file for --limits, with the margins

Self-check: in a launch of its own one node, chosen by the seed, gets a known load, and must be found. If it is not, a
node as bad as this could be missed, and the verdict cannot be pass; a short launch with ten times the load tells
whether the run was insensitive or something is broken. Needs two nodes.
  --self-check P[:TIME]  percent of one CPU, and how long (default 1:40s); none: without

Exit status: 0 pass, or nothing was asked and nothing failed; 1 fail, 3 inconclusive. The verdict is in CAMPAIGN/verdict.json, that of each node in
CAMPAIGN/nodes/HOST.txt (for noiselab-node-health).
  --json            the verdict as JSON in place of the table
  --lines           as lines "name: value unit", for ReFrame and Pavilion
  --junit FILE      also as JUnit XML

Everything else goes to noiselab-accept as it is (noiselab-accept --help).

EOT
}

default_options() {
    program=noiselab-accept answered_by=answer_acceptance judges_partial=judge_what_ran
    no_self_check='' self_check_level=1 self_check_seconds=40s is_planned=''
}

refuse_option() {
    case $1 in
    --write-limits) exec "$NOISELAB_BIN/noiselab-analyze" acceptance --write-limits ;;
    --launch-id | --stop-when) die 2 "$1: the experiment sets it; leave it out" ;;
    esac
}

check_options() {
    [ -z "$quick" ] || [ -z "$full" ] || die 2 '--quick and --full cannot be combined'
    [ -z "$json" ] || [ -z "$lines" ] || die 2 '--json and --lines cannot be combined'
    # shellcheck disable=SC2154 # from own_options
    case $self_check_wanted in
    '') ;;
    none) no_self_check=yes ;;
    *:*) self_check_level=${self_check_wanted%%:*} self_check_seconds=${self_check_wanted#*:} ;;
    *) self_check_level=$self_check_wanted ;;
    esac
    # known before the measurement that it can be written after it
    [ -z "$junit" ] || [ -w "$(dirname -- "$junit")" ] || die 2 "--junit: cannot write '$junit': there is no such folder, or it is not yours"
    quoted "$junit"
    answer_options="${json:+ --json}${lines:+ --lines}${junit:+ --junit $REPLY}"
    now
    seed=${seed:-$REPLY}
    countable "$seed"
    self_check_level=${self_check_level%\%}
    is_level --self-check "$self_check_level" 1
    margin=${margin%\%}
    check_limits
    ranks_column
    find_used_nodes
    # where the nodes decide: a rank on each of their cores; not known before a job that is only submitted
    ranks_to_plan=${ranks_planned/#-/$((n_used_nodes * cores))}
    ranks_to_plan=${ranks_to_plan#0}
    # each has an order of its own, while there are others
    launches=${launches:-$((n_used_nodes < 3 ? n_used_nodes : 3))}
    whole --launches "$launches"
    if [ -n "$full" ]; then set -- --full "$@"; else set -- --quick "$@"; fi
    [ -z "$checks" ] || set -- --checks "$checks" "$@"
    plan_time
    share_time
    set -- "$@" --seconds "${each_ms}ms" --repetitions "$repetitions"
    rehearse ${ranks_to_plan:+--planned-ranks "$ranks_to_plan"} "$@"
    decide_self_check
    say_time "$total_s"
    note "$launches launch(es) of the checks${self_check:+ and a self-check}, about $REPLY in all; seed $seed; into '$campaign'"
    go_on "$@"
}

plan_launches() {
    [ -z "$limits" ] || cp "$limits" "$scratch/limits.conf" || die 2 "--limits: cannot copy '$limits'"
    [ -z "$classes" ] || cp "$classes" "$scratch/classes.conf" || die 2 "--classes: cannot copy '$classes'"
    for nodes_of_launch in "${sets_of_nodes[@]}"; do
        for ((turn = 0; turn < launches; turn++)); do
            nth_order "$turn" "$launches" "$n_used_nodes"
            row - "$nodes_of_launch" "$ranks_planned" --program=accept --rotate="$REPLY" "$@" --seed "$((seed + row_number))"
        done
        [ -n "$self_check" ] || continue
        row_suffix=-selfcheck
        self_check_row "$self_check_level" "$self_check_seconds"
        [ -z "$control_level" ] || self_check_row "$control_level" "$control_seconds"
        row_suffix=''
    done
}

main "$@"
