# shellcheck shell=sh
# Nodes: each is a set of namespaces (network, host name, mounts, processes) held by one process, its keeper.
# Nothing of them has a name outside, so they are gone when the keepers are. The login node has the bridge.
# Sourced by cluster.sh; $here, $dir, $tag, $n_nodes and $with_slurm are set.
# shellcheck disable=SC2154

subnet=10.211.78
login_address=$subnet.254

nodes_why_not() {
    if [ "$(id -u)" != 0 ]; then echo 'needs root, to make namespaces'; fi
    for program in ip nsenter unshare taskset setsid; do
        command -v "$program" >/dev/null || echo "needs $program (make deps)"
    done
    if [ "$(id -u)" = 0 ] && ! unshare --net --uts --mount --pid --fork ip link add br0 type bridge \
        2>/dev/null; then
        echo 'namespaces with a bridge in them cannot be made here'
    fi
}

node_names() { seq -f 'node%g' "$n_nodes"; }

# node_cpu NODE: the CPU of a node, the k-th of those this process may use, in turn
node_cpu() {
    awk -v k="${1#node}" '/^Cpus_allowed_list:/ {
        n_parts = split($2, part, ",")
        for (i = 1; i <= n_parts; i++) {
            last = split(part[i], end, "-")
            for (cpu = end[1]; cpu <= end[last]; cpu++) list[n++] = cpu
        }
        print list[(k - 1) % n]
    }' /proc/self/status
}

started_at() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

# keeper_of NODE: its process, if it is the one that was started and not another that has its number by now
keeper_of() {
    keeper='' since=''
    [ -f "$dir/pids/$1" ] && read -r keeper since <"$dir/pids/$1" || return
    [ -n "$since" ] && [ "$(started_at "$keeper")" = "$since" ]
}

node_is_up() { keeper_of "$1" && [ -e "$dir/run/$1.ready" ]; }

# keep NODE: starts a node's keeper
keep() {
    rm -f "$dir/run/$1.ready"
    mkdir -p "$dir/tmp/$1" "$dir/spool/$1" || return
    if [ "$1" = login ]; then
        cpus=$(awk '/^Cpus_allowed_list:/ { print $2 }' /proc/self/status); else cpus=$(node_cpu "$1")
    fi
    # --kill-child: a node goes down with its keeper
    setsid taskset -c "$cpus" unshare --net --uts --mount --pid --fork --kill-child "$here/keeper.sh" "$tag" \
        "$1" "$dir" \
        </dev/null >"$dir/log/$1.keeper" 2>&1 3>&- &
    echo "$! $(started_at $!)" >"$dir/pids/$1"
}

# wait_for SECONDS COMMAND...: until it succeeds, or status 1
wait_for() {
    tries=$(($1 * 20))
    shift
    while ! "$@"; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || return 1
        sleep 0.05
    done
}

# plug NODE: its network card, and the cable from it to the bridge
plug() {
    keeper_of "$1" && on=$keeper && keeper_of login || return
    nsenter --target "$keeper" --net ip link add "$1" type veth peer name eth0 netns "$on" &&
        nsenter --target "$keeper" --net ip link set "$1" master br0 up &&
        nsenter --target "$on" --net ip addr add "$subnet.${1#node}/24" dev eth0 &&
        nsenter --target "$on" --net ip link set eth0 up
}

# a process of its own, so that what it says to the log is not what an interruption says to the user
nodes_up() (
    {
        echo '127.0.0.1 localhost'
        echo "$login_address login"
        for node in $(node_names); do echo "$subnet.${node#node} $node"; done
    } >"$dir/etc/hosts"
    for node in login $(node_names); do keep "$node" || return; done
    for node in login $(node_names); do wait_for 5 node_is_up "$node" || return; done
    login_run ip link add br0 type bridge && login_run ip addr add "$login_address/24" dev br0 &&
        login_run ip link set br0 up || return
    for node in $(node_names); do plug "$node" || return; done
) 2>"$dir/log/nodes"

# strays: processes that commands of this cluster have left on the login node or on the way to a node, by the
# mark in their environment
strays() {
    # not those that look
    unset NOISELAB_CLUSTER
    grep -lzxsF "NOISELAB_CLUSTER=$dir" /proc/[0-9]*/environ | while read -r environment; do
        pid=${environment#/proc/}
        pid=${pid%/environ}
        [ "$pid" = $$ ] || echo "$pid"
    done
}

# shellcheck disable=SC2046,SC2086 # lists of processes
nodes_down() {
    keepers=''
    for file in "$dir"/pids/*; do
        if keeper_of "${file##*/}"; then keepers="$keepers $keeper"; fi
    done
    left="$keepers $(strays)"
    [ "$left" = ' ' ] || kill -9 $left 2>/dev/null
    wait_for 4 nodes_are_gone || echo "cluster.sh: still there: $(strays | tr '\n' ' ')" >&2
}

nodes_are_gone() {
    for file in "$dir"/pids/*; do
        ! keeper_of "${file##*/}" || return 1
    done
    [ -z "$(strays)" ]
}

# on_login: sets `keeper`, and what commands of the cluster find in their environment
# (Open MPI 4 is not told of a folder in /dev/shm: the nodes have other ones)
on_login() {
    keeper_of login || stop "the login node of $dir is down"
    export NOISELAB_CLUSTER="$dir" SLURM_CONF="$dir/etc/slurm.conf" TMPDIR="$dir/tmp/login"
    unset OMPI_MCA_btl_vader_backing_directory OMPI_MCA_btl_sm_backing_directory
    # commands are root's here, and several nodes may share a CPU: a rank that waits gives it away
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 \
        PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_mpi_yield_when_idle="${OMPI_MCA_mpi_yield_when_idle-1}"
}

# shellcheck disable=SC2016 # expanded on the other side; entering a mount namespace forgets the folder
in_folder='cd "$1" && shift && exec "$@"'

login_exec() {
    [ $# -gt 0 ] || stop 'run: wants a command'
    on_login
    exec nsenter --target "$keeper" --net --uts --mount sh -c "$in_folder" sh "$PWD" "$@"
}

login_run() { (login_exec "$@"); }

# node_exec NODE COMMAND...
node_exec() {
    [ $# -gt 1 ] || stop 'on: wants a node and a command'
    node=$1
    shift
    on_login
    [ -e "$dir/pids/$node" ] ||
        stop "'$node' is not a node of $dir ($(node_names | tr '\n' ' ' | sed 's/ $//'))"
    keeper_of "$node" || stop "$node of $dir is down"
    export TMPDIR="$dir/tmp/$node"
    exec taskset -c "$(node_cpu "$node")" nsenter --target "$keeper" --net --uts --mount \
        --pid="/proc/$keeper/ns/pid_for_children" \
        sh -c "$in_folder" sh "$PWD" "$@"
}

node_run() { (node_exec "$@"); }

# node_fail NODE: without a word to the others, as when the power goes
node_fail() {
    if [ $# != 1 ] || [ "$1" = login ] || [ ! -e "$dir/pids/$1" ]; then stop 'fail: wants a node'; fi
    login_run ip link del "$1"
    keeper_of "$1" && kill -9 "$keeper"
}

# node_relay NODE NODE [DELAY_US]: what the two send each other goes through a program that holds it; says its
# process, with which this ends
node_relay() {
    if [ $# -lt 2 ] || [ ! -e "$dir/pids/$1" ] || [ ! -e "$dir/pids/$2" ]; then
        stop 'relay: wants two nodes'
    fi
    if ! { keeper_of "$1" && first=$keeper && keeper_of "$2"; }; then stop "relay: $1 or $2 is down"; fi
    rm -f "$dir/run/relay.$1.$2"
    # it goes with the cluster, by the mark in its environment
    NOISELAB_CLUSTER="$dir" "$here/relay.py" "$first" "$subnet.${1#node}" "$keeper" "$subnet.${2#node}" \
        "${3:-200}" "$dir/run/relay.$1.$2" \
        </dev/null >"$dir/log/relay" 2>&1 3>&- &
    wait_for 5 test -e "$dir/run/relay.$1.$2" || stop "relay: it does not come up, see $dir/log/relay"
    echo $!
}

node_mend() {
    if [ $# != 1 ] || [ "$1" = login ] || [ ! -e "$dir/pids/$1" ]; then stop 'mend: wants a node'; fi
    node_is_up "$1" || { keep "$1" && wait_for 5 node_is_up "$1" && plug "$1"; } ||
        stop "$1 did not come up again, see $dir/log"
    [ "$with_slurm" = no ] || slurmd_mend "$1"
}
