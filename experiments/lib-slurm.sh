# Within a Slurm job: steps, nodes, CPUs and the time that is left. Slurm 22.05 and later. Sourced by lib.sh.
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared with the other parts

in_slurm_job() { [ -n "${SLURM_JOB_ID-}" ] && command -v srun >/dev/null; }

# say_het_job: of a heterogeneous job one component is used, and nobody should think it were all
say_het_job() {
    [ "${SLURM_HET_SIZE:-1}" -gt 1 ] 2>/dev/null || return 0
    note "this is a heterogeneous job of $SLURM_HET_SIZE components: only this one is measured (job ${SLURM_JOB_ID-}, $(job_nodes) node(s));" \
        "the others want a job of their own"
}

# job_nodes: number of nodes of the job
job_nodes() { echo "${SLURM_JOB_NUM_NODES:-${SLURM_NNODES:-1}}"; }

# names_of NAME LIST: sets REPLY to the nodes of a list as Slurm writes them, one on a line. NAME: whose list it is, for messages
names_of() { REPLY=$("$NOISELAB_LIBEXEC/noiselab-sh" nodes "$2" 2>&1) || die 2 "$1: ${REPLY#noiselab-sh: }"; }

# find_node_names: sets all_nodes, the nodes of the job, or of --hosts, one on a line; empty where there is neither
find_node_names() {
    all_nodes=''
    if [ -n "$hosts" ]; then
        names_of --hosts "$hosts"
        all_nodes=$REPLY
    elif in_slurm_job; then
        all_nodes=$("$NOISELAB_LIBEXEC/noiselab-sh" job-nodes 2>&1) || die 2 "job $SLURM_JOB_ID: ${all_nodes#noiselab-sh: }"
    fi
}

# find_srun_mpi: sets srun_mpi, what srun --mpi= has to be for the detector's MPI library; NOISELAB_SRUN_MPI says it where this guesses wrong
find_srun_mpi() {
    local wanted='pmix pmi2' known
    srun_mpi=${NOISELAB_SRUN_MPI-}
    [ -z "$srun_mpi" ] || return 0
    # MPICH built without PMIx speaks PMI-2; its library is named so by Debian, and libmpi.so.12 by itself
    case $(ldd "$NOISELAB_BIN/noiselab-detect" 2>/dev/null) in
    *libmpich.so* | *libmpi.so.12*) wanted='pmi2 pmix' ;;
    esac
    known=$(srun --mpi=list 2>&1)
    # by whole words: "specific pmix plugin versions available: pmix_v4"
    known=${known//[$'\n\t,:']/ }
    for srun_mpi in $wanted; do
        case " $known " in *" $srun_mpi "*) return 0 ;; esac
    done
    return 1
}

# slurm_cpus: prints one line "host cores cpus" for each node of the job, of the CPUs that a step of this job may use there: no more than the job's, and
# without those that are kept for the system (core specialisation)
slurm_cpus() {
    # these would narrow the look, clash with --cpu-bind, or keep our environment from the nodes (of a job with --export=NONE)
    unset SLURM_EXPORT_ENV SRUN_CPUS_PER_TASK SLURM_CPUS_PER_TASK SLURM_TRES_PER_TASK SLURM_HINT SLURM_CPU_BIND SLURM_NTASKS SLURM_NPROCS \
        SLURM_NTASKS_PER_NODE
    local look n
    n=$(job_nodes)
    look=$(srun --overlap --nodes="$n" --ntasks="$n" --ntasks-per-node=1 --cpu-bind=none --mpi=none --job-name=noiselab-look \
        --kill-on-bad-exit=1 "$NOISELAB_BIN/noiselab-gen" --list cpus 2>&1 </dev/null) || {
        first_line "$look"
        die 2 "the nodes of job $SLURM_JOB_ID do not answer: ${REPLY#srun: }"
    }
    printf '%s\n' "$look"
}

# find_binding: sets binds_nothing where this cluster cannot bind ranks to cores, which srun would say again for each launch
find_binding() {
    binds_nothing=''
    case $(scontrol show config 2>/dev/null | sed -n 's/^TaskPlugin *= *//p') in
    '' | '(null)' | none | task/none)
        binds_nothing=yes
        note 'this cluster does not bind ranks to CPUs (TaskPlugin): they may migrate'
        ;;
    esac
}

# run_srun NODES PROGRAM ARGUMENTS: use_nodes and per_node are set. Becomes srun.
run_srun() {
    nodes_of_step=$1
    shift
    if [ -n "${ordered-}" ]; then
        # srun sorts --nodelist: the ranks' nodes, one for each, are in a file
        SLURM_HOSTFILE=$scratch/hosts
        export SLURM_HOSTFILE
        awk -v RS=, -v most="$use_nodes" -v each="$per_node" 'NR <= most { for (i = 0; i < each; i++) print $1 }' <<<"$nodes_of_step" >"$SLURM_HOSTFILE"
        set -- --distribution=arbitrary "$@"
    else
        [ "$nodes_of_step" = - ] || set -- --nodelist="$nodes_of_step" "$@"
        set -- --ntasks-per-node="$per_node" "$@"
    fi
    # one of --hint and --cpu-bind: they cannot be combined, and a --hint of the job is in the environment
    if [ -n "${SLURM_HINT-}" ]; then
        unset SLURM_CPU_BIND
    elif [ -z "$binds_nothing" ]; then
        set -- --cpu-bind=cores "$@"
    fi
    # since 22.05 srun does not take over the job's --cpus-per-task, and ranks that share a core would disturb each other
    SRUN_CPUS_PER_TASK=$(cpus_per_core)
    # Slurm looks at every process at this interval, which is noise; srun reads the first variable, and the second one reaches the detector, which
    # records it
    SLURM_ACCTG_FREQ=task=${acctg_task_s:-0}
    NOISELAB_ACCTG_FREQ=$SLURM_ACCTG_FREQ
    export SRUN_CPUS_PER_TASK SLURM_ACCTG_FREQ NOISELAB_ACCTG_FREQ
    # in a shell that is a step itself (srun --pty) all CPUs are that step's
    [ -z "${SLURM_STEP_ID-}" ] || set -- --overlap "$@"
    # of the job, and not of this step; a third way to say CPUs per task (since 24.05) that differs from the first is fatal to srun
    unset SLURM_EXPORT_ENV SLURM_CPUS_PER_TASK SLURM_TRES_PER_TASK SLURM_NTASKS SLURM_NPROCS SLURM_NTASKS_PER_NODE
    become srun --mpi="$srun_mpi" --nodes="$use_nodes" --ntasks="$((use_nodes * per_node))" --job-name="$step_name" --kill-on-bad-exit=1 "$@"
}

# cpus_per_core: how many of Slurm's CPUs a core is: its hardware threads, or one, as the cluster is set up
cpus_per_core() {
    # where Slurm leaves hardware threads idle it counts cores
    case ${SLURM_HINT-},${SLURM_THREADS_PER_CORE-} in
    *nomultithread*,* | *compute_bound*,* | *,1) echo 1 && return ;;
    esac
    # such as 64(x2),16: the fewest, as the cores are
    awk -v RS=, -v cores="$cores" '
        NR == 1 || $1 + 0 < fewest { fewest = $1 + 0 }
        END { n = cores > 0 ? int(fewest / cores) : 1; print (n > 1 ? n : 1) }' <<<"${SLURM_JOB_CPUS_PER_NODE-1}"
}

# signal_step NAME: a TERM for each rank of that step of this job; fails when there is no such step (yet)
signal_step() {
    step=$(squeue --noheader --steps --jobs="$SLURM_JOB_ID" --format='%i %j' 2>/dev/null | awk -v name="$1" '$2 == name { print $1; exit }')
    [ -n "$step" ] && scancel --signal=TERM "$step" 2>/dev/null
}

# slurm_seconds TIME: sets REPLY to Slurm's days-hours:minutes:seconds, or minutes, in seconds; empty for UNLIMITED and the like
slurm_seconds() {
    local days=0 rest=$1
    local -a part
    REPLY=''
    [[ $1 =~ ^[0-9]+(-[0-9]+)?(:[0-9]+)*$ ]] || return 0
    case $1 in *-*) days=${1%-*} rest=${1#*-} ;; esac
    IFS=: read -ra part <<<"$rest"
    # without days a single number, or the first of two, are minutes
    if [ "$rest" = "$1" ] && [ ${#part[@]} -lt 3 ]; then part=(0 "${part[@]}"); fi
    REPLY=$((10#$days * 86400 + 10#${part[0]} * 3600 + 10#${part[1]-0} * 60 + 10#${part[2]-0}))
}

# slurm_time SECONDS: sets REPLY, as --time takes it, in whole minutes
slurm_time() { printf -v REPLY '%d:%02d:00' "$((($1 + 59) / 3600))" "$((($1 + 59) % 3600 / 60))"; }

# find_time_limit: sets ends_at, when the job's time is over (seconds since 1970); empty without a limit
find_time_limit() {
    ends_at=''
    in_slurm_job || return 0
    ends_at=${SLURM_JOB_END_TIME-}
    case $ends_at in '' | *[!0-9]*) ;; *) return ;; esac
    read -r REPLY _ < <(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%L 2>/dev/null)
    slurm_seconds "$REPLY"
    ends_at=$REPLY
    [ -z "$ends_at" ] || { now && ends_at=$((ends_at + REPLY)); }
}

# back_into_queue: this job waits again and then goes on where it was
back_into_queue() {
    job=$SLURM_JOB_ID
    [ -z "${SLURM_ARRAY_TASK_ID-}" ] || job=${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID
    # that ends this job with a TERM
    trap '' INT TERM HUP
    reason=$(scontrol requeue "$job" 2>&1) || {
        first_line "$reason"
        die 2 "--requeue: $REPLY; $(how_to_go_on)"
    }
    note "job $job is requeued and continues '$campaign'"
    exit 2
}
