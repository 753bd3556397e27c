# shellcheck shell=sh
# Two nodes on one machine, for tests and benches: the test cluster's nodes without its Slurm. Ranks on them
# talk over TCP. They have one kernel, so their clocks agree. Sourced; `folder` is where the nodes' files go.

# sh does not tell a sourced file where it stands: TESTS does (the folder tests)
two_nodes_cluster() { "${TESTS:?the folder tests}/cluster/cluster.sh" "$@"; }

# two_nodes_why_not: prints why this machine cannot have them, one line, or nothing
two_nodes_why_not() {
    why=$(two_nodes_cluster why-not --no-slurm | head -n 1)
    if [ -n "$why" ]; then echo "$why"
    elif [ "$(nproc)" -lt 2 ]; then echo 'needs two CPUs'
    fi
}

# two_nodes_make TAG FOLDER: status other than 0, with the reason on stderr, when it cannot; then nothing of
# them stays
two_nodes_make() { two_nodes_cluster up --nodes 2 --no-slurm --tag "$1" "$2/nodes"; }

# two_nodes_or_leave_out TAG FOLDER: for setup_file of tests; what needs them is left out where they cannot be
# had
two_nodes_or_leave_out() {
    leave_out "$(two_nodes_why_not)"
    [ -z "$LEFT_OUT" ] || return 0
    if two_nodes_make "$1" "$2" 2>"$2/why"; then
        # the tests' own processes on the nodes are theirs by these
        OWN_PIDS=$(cut -d ' ' -f 1 "$2"/nodes/pids/* | paste -sd ' ' -)
        export OWN_PIDS
    else
        leave_out "no network namespaces here: $(tail -n 1 "$2/why")"
    fi
}

two_nodes_remove() { two_nodes_cluster down "$1/nodes"; }

# two_nodes_run FOLDER RANKS_PER_NODE COMMAND...: each node on a CPU of its own, whose ranks take turns on it
two_nodes_run() {
    folder=$1 per_node=$2
    shift 2
    two_nodes_cluster mpirun "$folder/nodes" --per-node "$per_node" "$@"
}
