# How the tests start ranks on this machine, whatever the MPI library: NOISELAB_MPIRUN, or mpirun, which must
# be that of the library that the programs were built with.
# shellcheck shell=bash

MPIRUN_COMMAND=${NOISELAB_MPIRUN:-mpirun}
# Open MPI 4 and 5 refuse root unless told twice
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 \
    PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
# what Open MPI chooses on one machine and over TCP anyway; told so, it does not look for fabrics for 0.2 s in
# every launch
export OMPI_MCA_pml=ob1
# one rank without a launcher starts none of Open MPI's daemons, which it would need to spawn others
export OMPI_MCA_ess_singleton_isolated=1

# exec_on_cores RANKS COMMAND...: a rank per core, and in turn where there are more ranks than cores. Becomes
# mpirun: in the background its pid is that of mpirun. Where one CPU is all that may be used nothing is bound:
# mpirun binds to cores of the machine, whether or not taskset leaves them.
exec_on_cores() {
    local ranks=$1 core=core
    shift
    [ "$(nproc)" -gt 1 ] || core=none
    case $("$MPIRUN_COMMAND" --version 2>&1) in
    *HYDRA*) exec "$MPIRUN_COMMAND" -bind-to "$core" -n "$ranks" "$@" ;;
    *)
        exec "$MPIRUN_COMMAND" --oversubscribe --bind-to "${core/core/core:overload-allowed}" -n "$ranks" "$@"
        ;;
    esac
}

on_cores() { (exec_on_cores "$@"); }

# ranks_of MPIRUN [NAME]: pids of the ranks of that program, the detector, that it started; with Hydra a proxy
# stands between them
ranks_of() { pgrep -P "$(pgrep -d , -P "$1" -f hydra_pmi_proxy || echo "$1")" -x "${2-noiselab-detect}"; }

# take_turns: for more ranks than cores. A rank that waits lets the others run, where it would spin for its
# whole time slice.
take_turns() {
    export OMPI_MCA_mpi_yield_when_idle=1
    export MPIR_CVAR_CH4_PROGRESS_THROTTLE=1 MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT=50
}
