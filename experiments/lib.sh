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
