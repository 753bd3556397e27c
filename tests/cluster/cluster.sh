#!/bin/sh
# A cluster on one machine, for tests: nodes with names, addresses, process tables and a CPU of their own,
# joined by a bridge, and on them Slurm from the distribution's packages, started for this cluster alone. As
# root. Several may be up at once. All that it makes lies in one folder; of what it starts nothing outlives
# its nodes, because each node's processes are in a process-id namespace and end with it.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 2

# shellcheck source=tests/cluster/nodes.sh
. "$here/nodes.sh"
# shellcheck source=tests/cluster/slurm.sh
. "$here/slurm.sh"
# shellcheck source=tests/cluster/mpirun.sh
. "$here/mpirun.sh"

usage() {
    cat <<'END'
usage: cluster.sh up [--nodes N] [--tag T] [--no-slurm] DIR
                                                 N nodes (3), node1..nodeN, and a login node; DIR: a short
                                                 path, see below
       cluster.sh down DIR                       end and remove it all; DIR/log stays. Does no harm twice, or
                                                 to what is half up
       cluster.sh run DIR COMMAND...             on the login node, in this folder; the process becomes the
                                                 command, signals reach it
       cluster.sh on DIR NODE COMMAND...         on a node, on its CPU
       cluster.sh mpirun DIR [--per-node K] [--nodes node1,node2] COMMAND...
                                                 without Slurm; NOISELAB_MPIRUN: Open MPI 4, 5 or MPICH
       cluster.sh fail DIR NODE                  switched off, at once
       cluster.sh mend DIR NODE                  and on again
       cluster.sh relay DIR NODE NODE [US]       a slow link: what the two send each other is held for so long
                                                 (200) by a program. Says its process number; the link is as
                                                 before when that ends
       cluster.sh why-not [--no-slurm]           why this machine cannot have one, or nothing
Nodes see this machine's files, with a /dev/shm of their own; DIR has sockets in it, so its path is at most
60 letters.
END
}

stop() {
    printf 'cluster.sh: %s\n' "$1" >&2
    exit 2
}

why_not() {
    nodes_why_not
    [ "${1-}" = --no-slurm ] || slurm_why_not
}

up() {
    n_nodes=3 tag=noiselab with_slurm=yes
    while [ $# -gt 0 ]; do
        case $1 in
        --nodes) n_nodes=${2-} && shift ;;
        --tag) tag=${2-} && shift ;;
        --no-slurm) with_slurm=no ;;
        -*) stop "up: '$1' is not an option (--nodes N, --tag T, --no-slurm)" ;;
        *) break ;;
        esac
        shift
    done
    [ $# = 1 ] || stop 'up: wants one folder'
    case $n_nodes in '' | *[!0-9]* | 0) stop "up: --nodes: '$n_nodes' is not a number of nodes" ;; esac
    [ "$n_nodes" -le 64 ] || stop 'up: --nodes: at most 64'
    case $tag in '' | *[!a-z0-9]*) stop "up: --tag: '$tag' is not a tag (small letters and digits)" ;; esac
    reason=$(why_not "$([ "$with_slurm" = yes ] || echo --no-slurm)" | head -n 1)
    [ -z "$reason" ] || stop "no cluster here: $reason"
    if ! mkdir -p "$1" || ! dir=$(cd "$1" && pwd -P); then stop "up: cannot make the folder $1"; fi
    [ ! -e "$dir/cluster" ] || stop "$dir has a cluster, up or half up: cluster.sh down $dir"
    # all but its log goes when the cluster is taken down
    [ -z "$(find "$dir" -mindepth 1 -maxdepth 1 ! -name log)" ] || stop "$dir is not empty"
    [ "${#dir}" -le 60 ] || stop "$dir is too long a path for the sockets in it (60 letters)"

    trap 'take_down; exit 2' EXIT
    trap 'echo "cluster.sh: interrupted; everything is taken down" >&2; exit 2' INT TERM HUP
    printf '%s\n' "tag $tag" "nodes $n_nodes" "slurm $with_slurm" >"$dir/cluster" ||
        stop "cannot write in $dir"
    mkdir -p "$dir/etc" "$dir/log" "$dir/pids" "$dir/run" "$dir/spool" "$dir/tmp" ||
        stop "cannot write in $dir"
    nodes_up || stop "the nodes did not come up, see $dir/log"
    if [ "$with_slurm" = yes ]; then slurm_up || stop "Slurm did not come up, see $dir/log"; fi
    trap - EXIT INT TERM HUP
}

# take_down: of $dir, whatever of it is there; only the logs stay
take_down() {
    trap '' INT TERM HUP
    nodes_down
    (cd "$dir" && rm -rf etc pids run spool tmp state cluster)
}

# find_cluster DIR: sets dir, or status 1
find_cluster() { dir=$(cd "${1:-/nowhere}" 2>/dev/null && pwd -P) && [ -f "$dir/cluster" ]; }

# open_cluster DIR: sets dir, tag, n_nodes, with_slurm
open_cluster() {
    find_cluster "${1-}" || stop "'${1-}' holds no cluster (cluster.sh up makes one)"
    while read -r key value; do
        case $key in
        tag) tag=$value ;;
        nodes) n_nodes=$value ;;
        slurm) with_slurm=$value ;;
        esac
    done <"$dir/cluster"
}

down() {
    [ $# = 1 ] || stop 'down: wants one folder'
    if find_cluster "$1"; then take_down; fi
}

[ $# -gt 0 ] || {
    usage >&2
    exit 2
}
command=$1
shift
case $command in
up | down | why_not) "$command" "$@" ;;
why-not) why_not "$@" ;;
run | on | mpirun | fail | mend | relay)
    open_cluster "${1-}"
    shift
    case $command in
    run) login_exec "$@" ;;
    on) node_exec "$@" ;;
    mpirun) cluster_mpirun "$@" ;;
    fail) node_fail "$@" ;;
    mend) node_mend "$@" ;;
    relay) node_relay "$@" ;;
    esac
    ;;
-h | --help) usage ;;
*) stop "'$command' is not a command (cluster.sh --help)" ;;
esac
