# Where the ranks run, and how they are started: mpirun on this machine, srun or mpirun within a Slurm job. Sourced by lib.sh.
# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # variables are shared with the other parts

# "openmpi", "hydra" (MPICH and its relatives) or "unknown".
mpirun_flavour() {
    case $("$1" --version 2>&1 | head -n 3) in
    *'Open MPI'* | *OpenRTE* | *PRRTE* | *prte*) echo openmpi ;;
    *HYDRA* | *MPICH* | *Intel*) echo hydra ;;
    *) echo unknown ;;
    esac
}

# choose_launcher: sets starts_with (srun, mpirun), and what each needs to know
choose_launcher() {
    [ -z "${starts_with-}" ] || return 0
    mpirun=${NOISELAB_MPIRUN:-mpirun}
    starts_with=${launcher:-${NOISELAB_LAUNCHER:-auto}}
    case $starts_with in
    srun) in_slurm_job || die 2 "--launcher srun: this is not a Slurm job (try sbatch, salloc or --submit)" ;;
    mpirun) ;;
    auto)
        starts_with=mpirun
        if in_slurm_job && [ -z "${NOISELAB_MPIRUN-}" ] && srun_mpi >/dev/null; then starts_with=srun; fi
        ;;
    *) die 2 "--launcher: '$starts_with' is not a launcher (try srun, mpirun, auto)" ;;
    esac
    case $starts_with in
    srun)
        srun_mpi=$(srun_mpi) || die 2 "--launcher srun: this srun can start neither pmix nor pmi2 programs (srun --mpi=list); try --launcher mpirun"
        find_binding
        ;;
    mpirun)
        command -v "$mpirun" >/dev/null || die 2 "'$mpirun' is not in PATH: install an MPI library or set NOISELAB_MPIRUN"
        flavour=$(mpirun_flavour "$mpirun")
        [ "$flavour" != unknown ] || note "unknown mpirun: ranks are started without binding"
        ;;
    esac
}

# find_cpus: sets n_nodes and cores, the number of cores of each node that this process, or this job, may use (0: unknown); node_cores has
# one line "host cores cpus" for each node
find_cpus() {
    if in_slurm_job; then
        node_cores=$(slurm_cpus) || exit 2
    else
        node_cores=$("$NOISELAB_BIN/noiselab-gen" --list-cpus) || exit 2
    fi
    n_nodes=$(printf '%s\n' "$node_cores" | wc -l)
    # the fewest: nodes that differ are refused where that matters
    cores=$(printf '%s\n' "$node_cores" | awk 'NR == 1 || $2 < fewest { fewest = $2 } END { print fewest + 0 }')
}

# same_cores: refuses nodes with different numbers of cores, where one rank per core is asked for
same_cores() {
    kinds=$(printf '%s\n' "$node_cores" | awk '
        !($2 in n) { kind[++n_kinds] = $2 }
        { if (n[$2]++ < 3) names[$2] = names[$2] (names[$2] == "" ? "" : ",") $1 }
        END {
            for (i = 1; i <= n_kinds; i++) {
                c = kind[i]
                printf "%s%s%s has %d core(s)", (i > 1 ? ", " : ""), names[c], (n[c] > 3 ? " and " (n[c] - 3) " more" : ""), c
            }
        }')
    case $kinds in
    *', '*' core(s)'*) die 2 "the nodes differ: $kinds: take nodes of one kind, or say the number of ranks (--ranks $((n_nodes * cores)))" ;;
    esac
}

# spread NAME RANKS NODES: sets use_nodes and per_node for so many ranks on at most so many nodes, the same number on each
spread() {
    whole "$1" "$2"
    use_nodes=$3
    [ "$use_nodes" -le "$2" ] || use_nodes=$2
    while [ $(($2 % use_nodes)) != 0 ]; do use_nodes=$((use_nodes - 1)); done
    per_node=$(($2 / use_nodes))
    [ "$cores" = 0 ] || [ "$per_node" -le "$cores" ] || {
        [ "$3" = 1 ] || die 2 "$1: $2 ranks on $3 nodes of $cores allowed core(s) would be $per_node on each of $use_nodes, and measure each other:" \
            "start at most $((cores * $3)), the same number on each node"
        die 2 "$1: $2 ranks on $cores allowed cores would measure each other: start at most $cores"
    }
}

# all_ranks NODES: prints the number of ranks of a launch on so many nodes, one per allowed core
all_ranks() {
    [ "$cores" != 0 ] || whole 'number of allowed cores (say it with --ranks)' "$cores"
    echo $(($1 * cores))
}

# take_launch_words WORDS: what a row of the schedule says to the runner, ahead of the program's own words: --program=accept (noiselab-accept in
# place of the detector), --rotate=FIRST:STEP (the order of nodes: that one first, then each STEP-th of the ring), --noise-node=K (the K-th node
# of the list has the noise). Sets n_launch_words, launch_program, ordered (yes: nodes_wanted is the order of the ranks), nodes_wanted, noise_node.
take_launch_words() {
    launch_program=noiselab-detect ordered='' noise_node=''
    n_words=$#
    while [ $# -gt 0 ]; do
        value=${1#*=}
        case $1 in
        --program=accept) launch_program=noiselab-accept ;;
        --rotate=*[!0-9:]* | --rotate=:* | --rotate=*:0* | --rotate=*: | --rotate=*:*:* | --noise-node=*[!0-9]* | --noise-node= | --noise-node=0*)
            die 2 "'$schedule': '$1' is not an order of nodes or the number of one"
            ;;
        --rotate=*:*) turn_nodes "${value%:*}" "${value#*:}" ;;
        --noise-node=*) noise_node=$(nodes_of_list | awk -v k="$value" '{ name[NR] = $1 } END { print name[(k - 1) % NR + 1] }') ;;
        *) break ;;
        esac
        shift
    done
    n_launch_words=$((n_words - $#))
}

# nodes_of_list: the nodes of nodes_wanted, one on a line; of - all that there are, here this machine
nodes_of_list() {
    if [ "$nodes_wanted" != - ]; then
        printf '%s\n' "$nodes_wanted" | tr ',' '\n'
    elif in_slurm_job; then
        node_names
    else
        uname -n
    fi
}

# turn_nodes FIRST STEP: nodes_wanted in that order; a step that would not reach all nodes, of a plan for another number of them, is 1
turn_nodes() {
    [ "$1:$2" != 0:1 ] || return 0
    make_scratch
    nodes_wanted=$(nodes_of_list | awk -v first="$1" -v step="$2" '
        function gcd(a, b, t) { while (b) { t = a % b; a = b; b = t } return a }
        { name[NR - 1] = $1 }
        END {
            if (gcd(step, NR) != 1) step = 1
            for (i = 0; i < NR; i++) out = out (i ? "," : "") name[(first + i * step) % NR]
            print out
        }')
    ordered=yes
}

# run_mpirun NODES PROGRAM ARGUMENTS: use_nodes and per_node are set; NODES - leaves the choice to mpirun. Becomes mpirun: call it in the background,
# where a signal then reaches mpirun itself.
run_mpirun() {
    hosts=$1
    shift
    n_ranks=$((use_nodes * per_node))
    [ "$hosts" = - ] || case $flavour in
    openmpi) set -- --host "$(words "$hosts" | sed "s/ /:$per_node,/g"):$per_node" "$@" ;;
    *) set -- -hosts "$hosts" "$@" ;;
    esac
    if [ "$flavour" = openmpi ]; then
        if [ "$(id -u)" = 0 ]; then
            # Open MPI refuses root unless told twice; on a machine of one's own, root is what people are
            OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
            PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
            export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM PRTE_ALLOW_RUN_AS_ROOT PRTE_ALLOW_RUN_AS_ROOT_CONFIRM
        fi
        if [ "$n_nodes" -gt 1 ]; then
            exec "$mpirun" -n "$n_ranks" --map-by "ppr:$per_node:node" --bind-to core "$@"
        fi
        exec "$mpirun" -n "$n_ranks" --map-by core --bind-to core "$@"
    fi
    [ "$n_nodes" = 1 ] || set -- -ppn "$per_node" "$@"
    [ "$flavour" = unknown ] || set -- -bind-to core "$@"
    exec "$mpirun" -n "$n_ranks" "$@"
}

# catch_signals: from here on a signal ends the launch, and with it the load, at once, and sets interrupted=yes; what was taken stays
catch_signals() {
    interrupted=no
    running='' step_name=''
    trap 'interrupted=yes; stop_launch' INT TERM HUP
}

# end_on_signals: where no launch runs a signal is the end, after what runs in the foreground
end_on_signals() { trap 'die_interrupted' INT TERM HUP; }

die_interrupted() {
    [ ! -f "${campaign-}/schedule.tsv" ] || die 2 "interrupted; what was taken is in '$campaign'; $(how_to_go_on)"
    die 2 'interrupted; nothing was measured'
}

stop_launch() {
    [ -n "$running" ] || return 0
    # srun answers a TERM by killing the ranks, which then could not end their files: the ranks are told themselves
    [ "$starts_with" = srun ] && signal_step "$step_name" && return 0
    kill -TERM "$running" 2>/dev/null
}

# one_launch NAME NODES RANKS ARGUMENTS: runs launch_program (or the detector) on a list of nodes, or all (-), so many ranks or one per core (-);
# its status is in status, its time in took_s. Needs choose_launcher, find_cpus and catch_signals.
one_launch() {
    step_name=$1 nodes_of_launch=$2 ranks_of_launch=$3
    shift 3
    n_nodes_of_launch=$n_nodes
    # shellcheck disable=SC2046 # names of nodes hold no spaces
    [ "$nodes_of_launch" = - ] || n_nodes_of_launch=$(set -- $(words "$nodes_of_launch") && echo $#)
    if [ "$ranks_of_launch" = - ]; then
        same_cores
        ranks_of_launch=$(all_ranks "$n_nodes_of_launch")
    fi
    spread "$step_name" "$ranks_of_launch" "$n_nodes_of_launch"
    began=$(date +%s)
    # the ranks read nothing: what is on our own input is not theirs
    "run_$starts_with" "$nodes_of_launch" "$NOISELAB_BIN/${launch_program:-noiselab-detect}" "$@" </dev/null >/dev/null &
    running=$!
    # a signal may have come between the last look and now
    [ "$interrupted" = no ] || stop_launch
    # a trapped signal ends wait early: wait until the launcher has really gone
    while :; do
        wait "$running"
        status=$?
        kill -0 "$running" 2>/dev/null || break
    done
    running=''
    took_s=$(($(date +%s) - began))
}
