#!/bin/bash
# reproducibility: how well the mean time of an operation repeats from launch to launch, for each number of ranks
set -u
# shellcheck source=experiments/lib.sh
. "$NOISELAB_LIBEXEC/lib.sh"

experiment=reproducibility
analysis=reproducibility
own_options='value design levels starts op bytes seconds'

usage() {
    cat <<'EOT'
Usage: noiselab run reproducibility [OPTIONS]

Runs noiselab-detect repeatedly for each number of ranks, with synchronised starts and without noise, and reports the
scatter of the launch means (relative standard error), as MPIPerf does.

  --ranks LIST    numbers of ranks, separated by commas (default: powers of two up to the allowed cores, and their number)
  --launches N    launches for each of them (default 10; at least 3 give an answer)
  --seed N        seed of the first launch; each further launch adds one

Everything else goes to noiselab-detect as it is (noiselab detect --help); the defaults are
  --design single --levels none --starts window:raw=starts.bin --op barrier,allreduce,alltoall --bytes 2KiB --seconds 1
From the raw files noiselab analyze mpiperf DIR makes the published report; they take 8 + 12 x ranks bytes per start.

EOT
}

default_options() {
    design=single levels=none starts=window op=barrier,allreduce,alltoall bytes=2KiB seconds=1
}

refuse_option() {
    case $1 in
    --launch-id) die 2 '--launch-id: launches need names of their own; leave it out' ;;
    --margin) die 2 '--margin: belongs to experiments with a treatment' ;;
    esac
}

check_options() {
    seed_and_launches 10
    list_of_ranks 1
    case $starts in
    *raw=*) ;;
    *:*) starts=$starts,raw=starts.bin ;;
    *) starts=$starts:raw=starts.bin ;;
    esac
    set -- --seconds "$seconds" --bytes "$bytes" --op "$op" --starts "$starts" --levels "$levels" --design "$design" "$@"
    rehearse "$@"
    go_on "$@"
}

plan_launches() {
    # a launch of every count and set of nodes in each round, so that a machine that drifts does not look like an effect of the ranks
    # shellcheck disable=SC2086 # a list
    on_each_set ${ranks//,/ }
    shuffled "$seed" "$launches" "$REPLY"
    while read -r round count nodes_of_launch; do
        row "$round" "$nodes_of_launch" "$count" "$@" --seed "$((seed + row_number))"
    done < <(printf '%s\n' "${shuffled[@]}")
}

main "$@"
