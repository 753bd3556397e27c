# Shared by the experiments: finding the parts, the CPUs and mpirun. Sourced, never run.
# shellcheck shell=sh

# die STATUS MESSAGE: one line, then out. Statuses as everywhere: 2 usage or environment, 3 inconclusive.
die() {
    status=$1
    shift
    printf 'noiselab-run: %s\n' "$*" >&2
    exit "$status"
}

note() { printf 'noiselab-run: %s\n' "$*" >&2; }

# Number of physical cores among the CPUs this process may use.
allowed_cores() {
    allowed=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
    lscpu -p=CPU,CORE,SOCKET 2>/dev/null | awk -F , -v allowed="$allowed" '
        BEGIN {
            n = split(allowed, part, ",")
            for (i = 1; i <= n; i++) {
                if (split(part[i], ends, "-") == 1) ends[2] = ends[1]
                for (cpu = ends[1]; cpu <= ends[2]; cpu++) may[cpu + 0] = 1
            }
        }
        !/^#/ && ($1 + 0 in may) { core[$2 "," $3] = 1 }
        END { for (c in core) cores++; print cores + 0 }'
}

# "openmpi", "hydra" (MPICH and its relatives) or "unknown".
mpirun_flavour() {
    case $("$1" --version 2>&1 | head -n 3) in
    *'Open MPI'* | *OpenRTE* | *PRRTE* | *prte*) echo openmpi ;;
    *HYDRA* | *MPICH* | *Intel*) echo hydra ;;
    *) echo unknown ;;
    esac
}

# run_mpi RANKS PROGRAM ARGUMENTS: on this machine, one rank per core, each bound to its own. Becomes mpirun: call it in a subshell or in
# the background, where a signal then reaches mpirun itself.
run_mpi() {
    ranks=$1
    shift
    mpirun=${NOISELAB_MPIRUN:-mpirun}
    command -v "$mpirun" >/dev/null || die 2 "'$mpirun' is not in PATH: install an MPI library or set NOISELAB_MPIRUN"
    case $(mpirun_flavour "$mpirun") in
    openmpi)
        if [ "$(id -u)" = 0 ]; then
            # Open MPI refuses root unless told twice; on a machine of one's own, root is what people are
            OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
            PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
            export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM PRTE_ALLOW_RUN_AS_ROOT PRTE_ALLOW_RUN_AS_ROOT_CONFIRM
        fi
        exec "$mpirun" -n "$ranks" --map-by core --bind-to core "$@"
        ;;
    hydra) exec "$mpirun" -n "$ranks" -bind-to core "$@" ;;
    *)
        note "unknown mpirun: ranks are started without binding"
        exec "$mpirun" -n "$ranks" "$@"
        ;;
    esac
}

# run_detect RANKS ARGUMENTS
run_detect() {
    n_ranks=$1
    shift
    run_mpi "$n_ranks" "$NOISELAB_BIN/noiselab-detect" "$@"
}

# progress_option: mpirun hides the terminal from the ranks, so the decision is made here.
progress_option() {
    if [ -t 2 ]; then echo on; else echo off; fi
}

# whole NAME VALUE: refuses what is not a whole number of at least 1
whole() {
    case $2 in
    '' | *[!0-9]* | 0*) die 2 "$1: '$2' is not a positive whole number" ;;
    esac
}

# need NAME COUNT EXPERIMENT: refuses an option without its value
need() { [ "$2" -ge 2 ] || die 2 "$1 needs a value (see noiselab run $3 --help)"; }

# countable SEED: refuses a seed that cannot be counted on from launch to launch, by a shell that reads 010 as eight and stops at 2^63
countable() {
    [ "$1" = 0 ] || whole '--seed (with several launches)' "$1"
    [ "${#1}" -le 18 ] || die 2 "--seed: '$1' has more than 18 digits, too many to count on from launch to launch"
}

# fits NAME RANKS CORES: refuses more ranks than there are cores; CORES 0: unknown
fits() {
    whole "$1" "$2"
    [ "$3" = 0 ] || [ "$2" -le "$3" ] || die 2 "$1: $2 ranks on $3 allowed cores would measure each other: start at most $3"
}

# catch_signals: from here on a signal ends mpirun, and with it the load, at once, and sets interrupted=yes; what was taken stays
catch_signals() {
    # shellcheck disable=SC2034 # read by the experiments
    interrupted=no
    running=''
    trap 'interrupted=yes; [ -z "$running" ] || kill -TERM "$running" 2>/dev/null' INT TERM
}

# one_launch RANKS ARGUMENTS: runs the detector; its status is in status. Needs catch_signals.
one_launch() {
    run_detect "$@" >/dev/null &
    running=$!
    # a trapped signal ends wait early: wait until mpirun has really gone
    while :; do
        wait "$running"
        status=$?
        kill -0 "$running" 2>/dev/null || break
    done
    running=''
}
