#!/bin/sh
# advise: which collective algorithm of the MPI library is the fastest on this machine, quiet and under noise, and how to select it
set -u
# shellcheck source=experiments/lib.sh
. "$NOISELAB_LIBEXEC/lib.sh"

experiment=advise
analysis=advise
own_options='
--op           value  op
--bytes        value  bytes
--level        value  level
--half-period  value  half_period
--seconds      value  seconds
'

usage() {
    cat <<'EOT'
Usage: noiselab run advise [OPTIONS]

Compares the algorithms that the MPI library has for its collectives (Open MPI: those of its component tuned), each as
an arm of its own in every launch, beside the library's default, quiet and with noise on one rank, a new rank in each
launch. A fifth of the launches chooses a candidate for each operation and size; the others, which did not choose it,
say what it gains. Where it is shown to be faster the answer is a file of rules, and how to use it. Two short launches
try the rules first: one that the library does not follow is not advised.

  --op LIST         operations (default allreduce,bcast,alltoall,barrier,reduce)
  --bytes LIST      message sizes (default 8,2KiB,256KiB)
  --ranks N         number of ranks (default: one per allowed core)
  --level LEVEL     the noise, in percent of one CPU (default 5)
  --half-period T   length of a half (default 10ms)
  --seconds TIME    measuring time of a launch, whole seconds (default 25)
  --launches N      launches (default 10, at least 4)
  --margin PERCENT  a gain that would matter (default 5): below it the default is kept
  --seed N          seed of the first launch (default: from the clock)

Everything else goes to noiselab-detect as it is (noiselab detect --help).
Exit status 3: undecided for an operation and size.

The environment variable NOISELAB_MPIRUN names another mpirun.

EOT
}

default_options() {
    op=allreduce,bcast,alltoall,barrier,reduce bytes=8,2KiB,256KiB level=5 half_period=10ms seconds=25
}

refuse_option() {
    case $1 in
    --levels) die 2 '--levels: one level of noise is enough here: --level' ;;
    --on) die 2 '--on: the noise goes from rank to rank, launch by launch; leave it out' ;;
    --design | --block | --count) die 2 "$1: half-periods are what is compared; leave it out" ;;
    --launch-id) die 2 '--launch-id: launches need names of their own; leave it out' ;;
    esac
}

# algorithms_of LIST: each operation with the library's default and every algorithm of it that runs on so many ranks
algorithms_of() {
    "$NOISELAB_BIN/noiselab-detect" --list algorithms >"$scratch/algorithms" ||
        die 2 'run advise compares algorithms that Open MPI lets one choose, and this MPI library does not'
    # shellcheck disable=SC2046 # a list is meant to be split
    for name in $(words "$1"); do
        case $name in *=*) die 2 "--op: '$name': all algorithms of an operation are compared; leave '=${name#*=}' out" ;; esac
        awk -F , -v op="$name" -v ranks="$n_ranks" '
            $1 == op && ($2 != "two_proc" || ranks == 2) { list = list "," op "=" $2; n++ }
            END { if (!n) exit 1; print op "=default" list }' "$scratch/algorithms" ||
            die 2 "--op: this MPI library lets nobody choose the algorithm of '$name' (noiselab detect --list algorithms says of which)"
    done >"$scratch/compared"
}

check_options() {
    launches=${launches:-10} level=${level%\%} seconds=${seconds%s}
    whole --launches "$launches"
    whole --seconds "$seconds"
    [ "$launches" -ge 4 ] || die 2 "--launches: $launches is too few: one launch chooses, and three confirm (try 10)"
    seed=${seed:-$(date +%s)}
    countable "$seed"
    case $level in
    '' | *[!0-9.]* | *.*.* | .) die 2 "--level: '$level' is not a level in percent above 0 (try 5)" ;;
    *[1-9]*) ;;
    *) die 2 "--level: '$level' is not a level in percent above 0 (try 5)" ;;
    esac
    ranks_column
    n_ranks=${ranks:-$((cores * n_nodes))}
    [ "$n_ranks" -ge 2 ] || die 2 "--ranks: $n_ranks rank has nobody to talk to: at least 2"
    make_scratch
    algorithms_of "$op"
    compared=$(paste -sd , "$scratch/compared")
    set -- --op "$compared" --bytes "$bytes" --per-operation-timing off --half-period "$half_period" --levels "$level" "$@"
    rehearse "$@" --seconds "${seconds}s"
    # communicators and pilots: some 0.3 s for each algorithm and size
    halves_per_round=$(rehearsed halves_per_round) || exit $?
    start_s=$((start_s + halves_per_round / 7))
    go_on "$@"
}

plan_launches() {
    note "$launches launches of $seconds s, about $(say_time $((launches * (seconds + start_s)))) in all; seed $seed; into '$campaign'"
    next=0
    while [ "$next" -lt "$launches" ]; do
        next=$((next + 1))
        row - - "$ranks_planned" "$@" --noise-nodes first --on "rank:$(((seed + next) % (n_ranks / n_nodes)))" --seconds "${seconds}s" --seed "$((seed + next))"
    done
}

# rules_launch FILE WORDS: which algorithms run, by a rank more on each node than was measured; into FILE. Status 1: it could not be started.
rules_launch() {
    (
        spread --ranks "$n_ranks" "$n_nodes"
        per_node=$((per_node + 1)) binding=none binds_nothing=yes
        export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_mpi_yield_when_idle=1
        export SLURM_OVERCOMMIT=1 OMPI_MCA_coll_tuned_use_dynamic_rules=1
        file=$1
        shift
        "run_$starts_with" - "$NOISELAB_LIBEXEC/noiselab-rules" --out "$file" --ranks "$n_ranks" "$@"
    ) </dev/null >"$scratch/rules.said" 2>&1
}

# try_rules: what the analysis would advise is tried where it was measured: without the rules and with them, into advice.tried, which the analysis
# reads. What runs is watched, not timed.
try_rules() {
    # with --finish the nodes are gone: what was tried then holds
    [ -n "${starts_with-}" ] || return 0
    make_scratch
    rules=$(readlink -f "$campaign")/advice.rules
    rm -f "$campaign/advice.tried"
    "$NOISELAB_BIN/noiselab-analyze" advise --csv --rules "$rules" ${margin:+--margin "$margin"} "$campaign" >"$scratch/advice" 2>/dev/null
    [ -f "$rules" ] || return 0
    # "ranks operation=algorithm:bytes"
    awk -F , 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["condition"] == "quiet" && $at["verdict"] == "use" { print $at["ranks"], $at["operation"] "=" $at["algorithm"] ":" $at["bytes"] }' \
        "$scratch/advice" >"$scratch/advised"
    note 'two short launches try what is advised'
    # shellcheck disable=SC2013 # words, without spaces
    for n_ranks in $(cut -d ' ' -f 1 "$scratch/advised" | sort -un); do
        set --
        for word in $(sed -n "s/^$n_ranks //p" "$scratch/advised"); do set -- "$@" "$word"; done
        for how in without with; do
            tried=$rules.$how
            if (
                unset OMPI_MCA_coll_tuned_dynamic_rules_filename
                [ "$how" = without ] || export OMPI_MCA_coll_tuned_dynamic_rules_filename="$rules"
                rules_launch "$tried" "$@"
            ); then
                sed "s/^/$how /" "$tried" >>"$scratch/tried"
            else
                note "the rules could not be tried by $((n_ranks + 1)) ranks: $(first_line <"$scratch/rules.said")"
                rm -f "$tried" "$scratch/tried"
                break 2
            fi
            rm -f "$tried"
        done
    done
    [ ! -f "$scratch/tried" ] || mv "$scratch/tried" "$campaign/advice.tried"
}

main "$@"
