# shellcheck shell=sh
# MPI programs on the nodes without Slurm: each library's mpirun is told how to reach a node and which network
# to use. Sourced by cluster.sh; $dir and $n_nodes are set.
# shellcheck disable=SC2154

# rsh_agent: what mpirun takes for rsh, as AGENT [OPTION]... HOST WORD...
rsh_agent() {
    cat <<END
#!/bin/sh
while case \${1-} in -*) true ;; *) false ;; esac; do shift; done
host=\$1
shift
# as with rsh, the words are one line for the shell there
exec "$here/cluster.sh" on "$dir" "\$host" sh -c "\$*"
END
}

# mpi_kind MPIRUN: openmpi4, openmpi5 or mpich, from what it says of itself
mpi_kind() {
    case $("$1" --version 2>/dev/null) in
    *'Open MPI) 4'*) echo openmpi4 ;;
    *'Open MPI) 5'*) echo openmpi5 ;;
    *HYDRA*) echo mpich ;;
    esac
}

# cluster_mpirun [--per-node K] [--nodes NODE,NODE...] COMMAND...: K ranks on each of these nodes, all of them
# by default, numbered node by node
cluster_mpirun() {
    per_node=1 on_nodes=$(node_names | paste -sd,)
    while [ $# -gt 1 ]; do
        case $1 in
        --per-node) per_node=$2 ;;
        --nodes) on_nodes=$2 ;;
        *) break ;;
        esac
        shift 2
    done
    [ $# -gt 0 ] || stop 'mpirun: wants a command'
    mpirun=${NOISELAB_MPIRUN:-mpirun}
    agent=$dir/etc/rsh
    [ -x "$agent" ] || { rsh_agent >"$agent" && chmod +x "$agent"; } || stop "mpirun: cannot write $agent"
    hosts=$(printf '%s\n' "$on_nodes" | sed "s/,/:$per_node,/g; s/\$/:$per_node/")
    ranks=$((per_node * $(printf '%s\n' "$on_nodes" | tr , '\n' | grep -c .)))
    kind=$(mpi_kind "$mpirun")
    case $kind in
    openmpi4)
        set -- --host "$hosts" --bind-to none --mca plm_rsh_agent "$agent" --mca oob_tcp_if_include \
            "$subnet.0/24" \
            --mca btl_tcp_if_include "$subnet.0/24" -n "$ranks" "$@"
        ;;
    openmpi5)
        set -- --host "$hosts" --bind-to none --prtemca plm_ssh_agent "$agent" --prtemca prte_if_include \
            "$subnet.0/24" \
            --mca pml ob1 --mca btl self,sm,tcp --mca btl_tcp_if_include "$subnet.0/24" -n "$ranks" "$@"
        ;;
    mpich)
        set -- -hosts "$hosts" -launcher rsh -launcher-exec "$agent" -localhost "$login_address" \
            -bind-to none -n "$ranks" "$@"
        ;;
    *) stop "mpirun: '$mpirun' is none of Open MPI 4, Open MPI 5 and MPICH" ;;
    esac
    # the nodes' own Slurm is not asked
    unset SLURM_CONF
    login_exec "$mpirun" "$@"
}
