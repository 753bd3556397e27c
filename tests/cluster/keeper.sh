#!/bin/sh
# The first process in a node's namespaces, which makes them the node: keeper.sh TAG NODE DIR. The node is
# gone when it ends. It also collects processes that lost their parents.
set -eu
tag=$1 node=$2 dir=$3
hostname "$node"
mount --bind "$dir/etc/hosts" /etc/hosts
ip link set lo up
# connections of killed processes to a node that is off must not keep the network alive for minutes
echo 1 >/proc/sys/net/ipv4/tcp_orphan_retries
# on the login node commands stay processes of the machine, so that signals reach them; those on the other
# nodes end with their node
if [ "$node" != login ]; then
    mount -t tmpfs tmpfs /dev/shm
    mount -t proc proc /proc
fi
: "$tag" >"$dir/run/$node.ready"
while :; do
    sleep 3600 &
    wait $! || :
done
