# shellcheck shell=sh
# Two nodes on one machine, for tests and benches: network namespaces with host names of their own, joined by a bridge, so that ranks on them
# talk over TCP. They have one kernel, so their clocks agree. Needs root and Open MPI 4, whose launcher can be told how to reach a node.
# Sourced; `tag` names the namespaces (up to ten letters and digits), `folder` is where the launcher's helpers go.

# two_nodes_why_not: prints why this machine cannot have them, one line, or nothing
two_nodes_why_not() {
    if [ "$(id -u)" != 0 ]; then echo 'needs root, to make network namespaces'
    elif ! mpirun --version 2>/dev/null | grep -q 'Open MPI) 4'; then echo 'written for Open MPI 4, whose launcher can be told how to reach a node'
    elif [ "$(nproc)" -lt 2 ]; then echo 'needs two CPUs'
    fi
}

# two_nodes_make TAG FOLDER: status other than 0, with the reason on stderr, when it cannot. What was made by then stays: two_nodes_remove
two_nodes_make() {
    tag=$1 folder=$2
    ip link add "$tag" type bridge && ip link set "$tag" up || return
    for n in 1 2; do
        ip netns add "$tag-$n" && ip link add "$tag-$n" type veth peer name eth0 netns "$tag-$n" || return
        ip link set "$tag-$n" master "$tag" up && ip -n "$tag-$n" addr add "10.211.78.$n/24" dev eth0 || return
        ip -n "$tag-$n" link set eth0 up && ip -n "$tag-$n" link set lo up || return
    done
    # how a command gets to a node, for mpirun: HOST is its address
    cat >"$folder/agent" <<END
#!/bin/sh
host=\$1
shift
exec nsenter --net=/run/netns/$tag-\${host##*.} unshare --uts sh -c "hostname node\${host##*.}; \$*"
END
    # ranks of a node that come after the first take turns on its CPU
    cat >"$folder/pinned" <<'END'
#!/bin/sh
per_node=$((OMPI_COMM_WORLD_SIZE / 2))
exec taskset -c "$((OMPI_COMM_WORLD_RANK / per_node))" "$@"
END
    chmod +x "$folder/agent" "$folder/pinned"
}

two_nodes_remove() {
    for n in 1 2; do
        ip netns del "$1-$n" 2>/dev/null || :
        ip link del "$1-$n" 2>/dev/null || :
    done
    ip link del "$1" 2>/dev/null || :
}

# two_nodes_run FOLDER RANKS_PER_NODE COMMAND...: one node on CPU 0, the other on CPU 1
two_nodes_run() {
    folder=$1 per_node=$2
    shift 2
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$folder/agent" 10.211.78.1 mpirun \
        --host "10.211.78.1:$per_node,10.211.78.2:$per_node" --mca plm_rsh_agent "$folder/agent" --mca btl_tcp_if_include 10.211.78.0/24 \
        --mca oob_tcp_if_include 10.211.78.0/24 --mca mpi_yield_when_idle 1 --bind-to none -n "$((2 * per_node))" "$folder/pinned" "$@"
}
