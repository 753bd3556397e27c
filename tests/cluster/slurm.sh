# shellcheck shell=sh
# Slurm on the nodes: munged and slurmctld on the login node, a slurmd on each other node, all root's, with
# keys, sockets and state in $dir. Sourced by cluster.sh; $dir, $tag and $n_nodes are set.
# shellcheck disable=SC2154

slurm_why_not() {
    for program in munged slurmctld slurmd srun sbatch; do
        command -v "$program" >/dev/null || echo "needs $program (make deps)"
    done
}

# The times are short, so that what is lost is missed within seconds. cred_expire is also how long a requeued
# job waits.
slurm_conf() {
    cat <<END
ClusterName=$tag
SlurmctldHost=login($login_address)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/run/munge.socket,cred_expire=10
StateSaveLocation=$dir/state
SlurmctldPidFile=$dir/run/slurmctld
SlurmctldLogFile=$dir/log/slurmctld
SlurmdPidFile=$dir/run/%n.slurmd
SlurmdLogFile=$dir/log/%n.slurmd
SlurmdSpoolDir=$dir/spool/%n
TmpFS=$dir/tmp/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_min_interval=100000,bf_interval=1
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=30
AccountingStorageType=accounting_storage/none
JobRequeue=1
ReturnToService=2
SlurmdTimeout=6
KillWait=2
UnkillableStepTimeout=10
MessageTimeout=5
TCPTimeout=2
MpiDefault=none
END
    for node in $(node_names); do
        echo "NodeName=$node NodeAddr=$subnet.${node#node} CPUs=1 State=UNKNOWN"
    done
    echo "PartitionName=main Nodes=$(node_names | paste -sd,) Default=YES MaxTime=INFINITE State=UP"
    echo "PartitionName=short Nodes=$(node_names | paste -sd,) MaxTime=2 State=UP"
}

# on_keeper PROGRAM...: a daemon of the login node, which ends with it
on_keeper() (
    on_login
    nsenter --target "$keeper" --net --uts --mount --pid="/proc/$keeper/ns/pid_for_children" \
        "$@" </dev/null >>"$dir/log/start" 2>&1 3>&-
)

# slurmd_start NODE: an older one that still runs gives way
slurmd_start() {
    (node_exec "$1" slurmd -N "$1") </dev/null >>"$dir/log/start" 2>&1 3>&-
}

slurmctld_answers() { login_run scontrol ping >/dev/null 2>&1; }

nodes_are_idle() { [ "$(login_run sinfo -h -p main -t idle -o %D 2>/dev/null)" = "$n_nodes" ]; }

node_is_idle() { [ "$(login_run sinfo -h -p main -n "$1" -t idle -o %D 2>/dev/null)" = 1 ]; }

node_is_free() { node_is_idle "$1" && ! node_run "$1" pgrep -x slurmstepd >/dev/null; }

# slurmd_mend NODE: a slurmd that starts reports at once, and what is left of the node's last job is ended
slurmd_mend() {
    if ! slurmd_start "$1" || ! wait_for 20 node_is_free "$1"; then
        stop "the slurmd of $1 did not come back, see $dir/log"
    fi
}

slurm_up() {
    mkdir -p "$dir/state"
    (umask 077 && head -c 128 /dev/urandom >"$dir/etc/munge.key") || return
    slurm_conf >"$dir/etc/slurm.conf"
    on_keeper munged --force --key-file="$dir/etc/munge.key" --socket="$dir/run/munge.socket" \
        --pid-file="$dir/run/munged" \
        --log-file="$dir/log/munged" --seed-file="$dir/run/munge.seed" --num-threads=2 || return
    on_keeper slurmctld || return
    for node in $(node_names); do slurmd_start "$node" || return; done
    wait_for 10 slurmctld_answers && wait_for 10 nodes_are_idle
}
