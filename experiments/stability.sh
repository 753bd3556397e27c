#!/bin/bash
# stability: which operation, size and number of ranks has repeatable times, reacts to noise, and is the most sensitive for its measuring time
set -u
# shellcheck source=experiments/lib.sh
. "$NOISELAB_LIBEXEC/lib.sh"

experiment=stability
analysis=stability
own_options='value op bytes counts half-period reference seconds'

usage() {
    cat <<'EOT'
Usage: noiselab run stability [OPTIONS]

Runs noiselab-detect several times, in random order, for each number of ranks and each number of operations in a block,
with the placebo and one reference level. Then it names the configurations that are repeatable and react to the level
(stage 1 of the published method), the half-period that suits them, and the next command.

  --op LIST         operations (default barrier,allreduce,alltoall)
  --bytes LIST      message sizes (default 2KiB)
  --ranks LIST      numbers of ranks, separated by commas (default: powers of two from 2 up to the allowed cores, and their number)
  --counts LIST     also blocks of so many operations, separated by commas (default: none, only half-periods)
  --half-period T   length of a half (default 10ms)
  --reference LEVEL the level that must be detected, in percent of one CPU (default 1)
  --seconds TIME    measuring time of a launch, whole seconds (default 10); with --counts longer where 7 sets need it
  --launches N      launches of each configuration (default 7: enough to show a scatter below 5 % when it is below 2 %)
  --seed N          seed of the order of launches, and of the first launch (default: from the clock)

Everything else goes to noiselab-detect as it is (noiselab detect --help). The total time is said before it starts.
Exit status 3: no configuration is shown to be repeatable and to react.

EOT
}

default_options() {
    op=barrier,allreduce,alltoall bytes=2KiB half_period=10ms reference=1 seconds=10
}

refuse_option() {
    case $1 in
    --levels) die 2 '--levels: the levels are 0 and the one of --reference' ;;
    --design | --block) die 2 "$1: half-periods, and blocks of --counts operations, are what is compared; leave it out" ;;
    --count) die 2 '--count: give the counts to compare as --counts 1000,10000' ;;
    --launch-id) die 2 '--launch-id: launches need names of their own; leave it out' ;;
    --margin) die 2 '--margin: stability asks for no margin; ask sensitivity' ;;
    esac
}

check_options() {
    reference=${reference%\%} seconds=${seconds%s}
    seed_and_launches 7
    whole --seconds "$seconds"
    is_level --reference "$reference" 1
    list_of_ranks 2
    if [ -n "$counts" ]; then
        is_list --counts "$counts" 1000,10000
        for count in ${counts//,/ }; do whole --counts "$count"; done
        [ -z "$submit" ] || plan_later='what a block of --counts operations takes is known after a look on the nodes'
    fi
    set -- --op "$op" --bytes "$bytes" "$@"
    rehearse --half-period "$half_period" --levels "0,$reference" --seconds "${seconds}s" "$@"
    go_on "$@"
}

plan_launches() {
    local -a configurations each_line
    local line total=0
    # shellcheck disable=SC2086 # a list
    on_each_set ${ranks//,/ }
    mapfile -t configurations <<<"$REPLY"
    configurations=("${configurations[@]/%/ - - $seconds -}")
    if [ -n "$counts" ]; then look_at_counts "$@"; fi
    for line in "${configurations[@]}"; do
        read -ra each_line <<<"$line"
        total=$((total + launches * (each_line[4] + start_s)))
    done
    say_time "$total"
    note "$((${#configurations[@]} * launches)) launches (${#configurations[@]} configurations of ranks and counts, $launches times)," \
        "about $REPLY in all; seed $seed; into '$campaign'"
    printf -v line '%s\n' "${configurations[@]}"
    shuffled "$seed" "$launches" "${line%"$newline"}"
    # every configuration once in each round, in an order of its own, so that a machine that drifts is no effect of the configuration
    while read -r round count nodes_of_launch each block_us time_s period_us; do
        local how=(--half-period "$half_period")
        # a period that was asked for comes later, and so first
        [ "$each" = - ] || how=(--design blocks --count "$each" --block "${block_us}us" --period "${period_us}us")
        row "$round" "$nodes_of_launch" "$count" "${how[@]}" --levels "0,$reference" --seconds "${time_s}s" --seed "$((seed + row_number + 1))" "$@"
    done < <(printf '%s\n' "${shuffled[@]}")
}

# look_at_counts WORDS: what a block of each count takes is known only after a look: a short clean launch for each number of ranks. Adds to
# configurations: ranks, nodes, count, block (us), time (s), period (us).
look_at_counts() {
    local lines_of_looks=$REPLY
    choose_launcher
    catch_signals
    while read -r count nodes_of_look; do
        one_launch "look-$count" "$nodes_of_look" "$count" --out "$scratch/$count" --design single --levels none --seconds 300ms "$@" --progress off
        [ "$interrupted" = no ] || die 2 'interrupted; nothing was measured'
        [ "$status" -eq 0 ] || die 2 "a first look at $count rank(s) ended with status $status"
        json_values "$scratch/$count"/*/launch.json -- 'cells.*.pilot_ns' || exit
        times=$REPLY
        rm -rf "${scratch:?}/$count"
        for each in ${counts//,/ }; do
            # a set has a block off and one at each of two levels, for each operation and size; 7 sets are what a test needs
            block_time_period=$(awk -v n="$each" -v seconds="$seconds" '
                { sum += $1; if (NR == 1 || $1 < fastest) fastest = $1 }
                END {
                    block = n * sum / NR / 1000
                    # a noise period must fit into the shortest block, also where a shared machine becomes several times as fast as it looked
                    period = int(n * fastest / 5000)
                    least = int(7 * 3 * sum * n / 1e9 * 1.05) + 1
                    print int(block) + 1, (least > seconds ? least : seconds), (period > 10000 ? 10000 : period)
                }' <<<"$times")
            period=${block_time_period##* }
            [ "$period" -ge 1000 ] ||
                die 2 "--counts: $each operations take about $((5 * period)) us with $count rank(s)," \
                    "and blocks of 5 ms are the shortest that hold noise periods: take more"
            configurations+=("$count $nodes_of_look $each $block_time_period")
        done
    done <<<"$lines_of_looks"
    end_on_signals
}

main "$@"
