#!/bin/bash
# sensitivity: how much noise slows which collective down on this machine or these nodes, and the smallest level that can be detected
set -u
# shellcheck source=experiments/lib.sh
. "$NOISELAB_LIBEXEC/lib.sh"

experiment=sensitivity
analysis=''
own_options='
flag app
value op bytes levels seconds design launch-id
seen arms
'

usage() {
    cat <<'EOF'
Usage: noiselab run sensitivity [OPTIONS]

Runs noiselab-detect on all allowed cores of this machine, or of the nodes of a Slurm job, analyses the campaign and
writes its report.

  --ranks N       number of ranks (default: one per allowed core)
  --launches N    launches (default 1). With one to four the result holds for these launches; with five or more for
                  launches like these
  --design launches
                  the published design: N sets (default 10), each with one launch per arm (off and every level) in
                  random order; --seconds is the measuring time of all launches together
  --seed N        seed of the first launch; each further launch adds one
  --app -- COMMAND
                  a program of yours in place of operations: COMMAND (mpirun -n 4 ./app) runs once for each launch, and
                  the load is switched on and off while it does. Defaults: --levels 0,1,5; halves hold whole repetitions
                  of the program's beat, an MPI call that is found, or said by --beat (such as allreduce:8)

Everything else goes to noiselab-detect as it is (noiselab detect --help); the defaults are
  --design lockin --op barrier,allreduce,alltoall --bytes 2KiB --levels 0,0.01,0.1,1,5 --seconds 120
which takes less than three minutes. Level 0 is the placebo; 5 is the positive control, which every working set-up
detects. Before the first launch the plan says how small a slowdown can be detected.

To compare kinds of load at the same level, or to use a recorded agent instead of a synthetic load:
  noiselab run sensitivity --kind spin,cache,procfs,ipi --levels 0,0.3,1
  noiselab run sensitivity --preset node_exporter --levels 0,0.1,1 --half-period 50ms

EOF
}

default_options() {
    op=barrier,allreduce,alltoall bytes=2KiB levels=0,0.01,0.1,1,5 seconds=120
}

refuse_option() { :; }

check_options() {
    check_program
    if [ -n "$app" ]; then
        [ "$design" != launches ] || die 2 '--design launches: with --app the load is switched while the program runs; leave it out'
        was_given --levels || levels=0,1,5
        set -- --app profiles "$@"
    else
        set -- --op "$op" --bytes "$bytes" "$@"
    fi
    if [ "$design" = launches ]; then
        launches=${launches:-10}
        refuse_given ': --design launches makes many launches, which get theirs from it; leave it out' --arms --launch-id
    elif [ -n "$design" ]; then
        set -- "$@" --design "$design"
    fi
    launches=${launches:-1}
    whole --launches "$launches"
    n_rounds=$((launches * n_node_sets))
    [ "$n_rounds" = 1 ] || [ -z "$launch_id" ] || die 2 '--launch-id: launches need names of their own; leave it out'
    # by other things in a campaign, or by a launch that would count as this one
    taken=$launch_id
    case $launch_id in '' | launch | claims | partial) ;; *) [ -e "$campaign/$launch_id" ] || taken='' ;; esac
    [ -z "$taken" ] || die 2 "--launch-id: '$launch_id' is taken in '$campaign'; choose another name"
    now
    seed=${seed:-$REPLY}
    # the shell counts with it, and would take it for octal
    case $seed in 0[0-9]*) die 2 "--seed: '$seed' begins with a zero; leave that out" ;; esac
    if [ "$n_rounds" -gt 1 ] || [ "$design" = launches ]; then countable "$seed"; fi
    if [ -n "$app" ]; then ranks_planned=-; else ranks_column; fi
    if [ "$design" = launches ]; then
        set -- "$@" --design single
        rehearse "$@" --arms on --levels "$levels" --seconds "$seconds"
        share_out
        if [ -n "$dry_run" ]; then
            arms_in_order
            [ -n "$submit" ] || was_given --json ||
                rehearsal=$(printf '%s\n' "${shuffled[@]}" | awk '{ print "set " $1 ": " ($2 == "off" ? "off" : $2 " %") }')
        fi
    else
        rehearse "$@" --levels "$levels" --seconds "$seconds" --seed "$seed" ${launch_id:+--launch-id "$launch_id"}
        [ -n "$app" ] || say_reach "$n_rounds"
    fi
    go_on "$@"
}

# share_out: the time over the launches, in whole noise periods for each loop of a launch: an operation, size and treatment
share_out() {
    local n_arms n_halves n_loops grid_ns start_ns=$((start_s * 1000000000)) each_s
    n_arms=${levels//[!,]/}
    n_arms=$((${#n_arms} + 2))
    n_launches=$((launches * n_arms * n_node_sets))
    rehearsed halves_per_round noise_period_ns
    n_halves=${REPLY%"$tab"*} period_ns=${REPLY#*"$tab"}
    n_loops=$((n_halves / (n_arms - 1)))
    grid_ns=$((n_loops * period_ns))
    nanoseconds "$seconds"
    each_ns=$((REPLY / n_launches / grid_ns * grid_ns))
    say_time "$((n_launches * n_loops))"
    [ "$each_ns" -gt 0 ] ||
        die 2 "--seconds: $seconds is too short for $n_launches launches of $n_loops loop(s): with a second for each they take" \
            "$REPLY"
    each_s=$(awk -v ns="$each_ns" 'BEGIN { printf "%.3g", ns / 1e9 }')
    say_time "$(((n_launches * (each_ns + start_ns) + 500000000) / 1000000000))"
    note "$launches sets of $((n_launches / launches)) launches in random order (--seed $seed), $each_s s of measuring each" \
        "and about $start_s s to start: some $REPLY"
}

# arms_in_order: sets shuffled to a line for each launch: set, arm (off or a level) and its nodes
arms_in_order() {
    # shellcheck disable=SC2086 # a list
    on_each_set off ${levels//,/ }
    shuffled "$seed" "$launches" "$REPLY"
}

plan_launches() {
    local round arm nodes_of_launch next_seed=$seed words
    if [ "$design" = launches ]; then
        arms_in_order
        while read -r round arm nodes_of_launch; do
            set_of_nodes "$round" "$nodes_of_launch"
            words=(--arms "off:set=$set_number")
            [ "$arm" = off ] || words=(--arms "on:set=$set_number" --levels "$arm")
            row "$set_number" "$nodes_of_launch" "$ranks_planned" "$@" "${words[@]}" --seconds "${each_ns}ns" --seed "$((seed + row_number))"
        done < <(printf '%s\n' "${shuffled[@]}")
        return
    fi
    shuffled "$seed" "$launches" "$lines_of_sets"
    while read -r round nodes_of_launch; do
        row - "$nodes_of_launch" "$ranks_planned" "$@" --levels "$levels" --seconds "$seconds" --seed "$next_seed"
        # a given seed names the first launch; the others must not repeat its order
        [ "$n_rounds" = 1 ] || next_seed=$((seed + row_number))
    done < <(printf '%s\n' "${shuffled[@]}")
}

main "$@"
