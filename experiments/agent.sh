#!/bin/sh
# agent: what a real agent or system service costs, launches with it against launches without
set -u
# shellcheck source=experiments/lib.sh
. "$NOISELAB_LIBEXEC/lib.sh"

experiment=agent
analysis=''
own_options='
--treatment  value  treatment
--interval   value  interval
--op         value  op
--bytes      value  bytes
--seconds    value  seconds
'

usage() {
    cat <<'EOT'
Usage: noiselab run agent [OPTIONS]

Sets of two launches of noiselab-detect, one with and one without the agent, in random order within each set; then the
verdicts: what the agent costs, and what could have been seen. Runs in a Slurm job, or submits one (--submit).

  --treatment NAME  what is switched (default slurm-accounting)
  --interval S      slurm-accounting: seconds between two samples, whole (default 1)
  --ranks N         number of ranks (default: one per allowed core)
  --launches N      sets of two launches (default 10)
  --seconds TIME    measuring time of each launch (default 20s)
  --op LIST, --bytes LIST   operations and sizes (default barrier,allreduce,alltoall and 2KiB)
  --seed N          seed of the order of launches (default: from the clock)

Treatments:
  slurm-accounting  Slurm looks at every process of the job, each --interval against never (--acctg-freq)

Everything else goes to noiselab-detect as it is (noiselab detect --help).

EOT
}

default_options() {
    treatment=slurm-accounting interval=1 op=barrier,allreduce,alltoall bytes=2KiB seconds=20s
}

refuse_option() {
    case $1 in
    --levels | --arms | --set | --design | --external | --launch-id)
        die 2 "$1: the experiment decides it (launches with and without the agent); leave it out"
        ;;
    esac
}

check_options() {
    launches=${launches:-10}
    whole --launches "$launches"
    whole --interval "$interval"
    interval_s=$interval
    seed=${seed:-$(date +%s)}
    countable "$seed"
    treatment_row "$treatment"
    "$treatment_check"
    ranks_column
    set -- --op "$op" --bytes "$bytes" --design single --seconds "$seconds" --external "$treatment" "$@"
    rehearse "$@" --arms on
    go_on "$@"
}

plan_launches() {
    while read -r round arm nodes_of_launch; do
        set_number=$(set_of_nodes "$round" "$nodes_of_launch")
        row "$set_number" "$nodes_of_launch" "$ranks_planned" "$@" --arms "$arm" --set "$set_number" --seed "$((seed + row_number))"
    done <<EOT
$(arms_on_nodes off on | shuffled "$seed" "$launches")
EOT
}

main "$@"
