#!/bin/bash
# try-deb.sh BUILD FOLDER: the packages of BUILD/deb in an emptied Debian 12 in FOLDER (as root, by debootstrap): programs without R are installed and used,
# then the analysis, then both are removed; nothing of them may be left. The last line is "N passed, N failed".
set -u
build=$(readlink -f "$1") root=$2
passed=0 failed=0
[ "$(id -u)" = 0 ] || { echo 'try-deb.sh: only root can make a system within this one' >&2 && exit 2; }
command -v debootstrap >/dev/null || { echo 'try-deb.sh: install debootstrap' >&2 && exit 2; }
ls "$build"/deb/noiselab_*.deb >/dev/null 2>&1 || { echo 'try-deb.sh: make deb first' >&2 && exit 2; }
[ ! -e "$root" ] || { echo "try-deb.sh: '$root' is there already" >&2 && exit 2; }

inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive OMPI_ALLOW_RUN_AS_ROOT=1 \
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$@"; }

# result STATUS NAME
result() {
    if [ "$1" = 0 ]; then passed=$((passed + 1)) && echo "ok - $2"; else failed=$((failed + 1)) && echo "not ok - $2" && tail -n 5 "$root.log" | sed 's/^/# /'; fi
}

unmount() {
    local place
    for place in dev proc sys; do
        ! mountpoint -q "$root/$place" || umount "$root/$place" || umount -l "$root/$place"
    done
}
# nothing of this machine may be under the folder when it is removed
end() { unmount && ! grep -qs " $(readlink -f "$root")/" /proc/mounts && rm -rf --one-file-system "$root" "$root.log"; }
trap end EXIT
trap 'exit 130' INT TERM

mkdir -p "$root" || exit 2
debootstrap --variant=minbase bookworm "$root" >"$root.log" 2>&1 || { tail -n 5 "$root.log" >&2; exit 2; }
# where this machine has its packages from
cp /etc/resolv.conf "$root/etc/"
rm -f "$root"/etc/apt/sources.list
cp -R /etc/apt/sources.list.d /etc/apt/sources.list "$root/etc/apt/" 2>/dev/null
cp -n /etc/apt/apt.conf.d/* "$root/etc/apt/apt.conf.d/" 2>/dev/null
for place in dev proc sys; do mount --bind "/$place" "$root/$place" || exit 2; done
# what is there of ours: files, shared memory (the folder has its own), cgroups that nobody is in
ours() {
    find "$root" \( -path "$root/proc" -o -path "$root/sys" \) -prune -o \( -name '*noiselab*' -o -name 'nl-*' \) -print | sort
    find /sys/fs/cgroup -type d -name '*noiselab*' -exec sh -c 'test -e "$0/cgroup.procs" && ! grep -q . "$0/cgroup.procs"' {} \; -print
}
inside apt-get -qq update >"$root.log" 2>&1 || { tail -n 5 "$root.log" >&2; exit 2; }
ours >"$root/before"
mkdir "$root/packages" && cp "$build"/deb/*.deb "$root/packages/"

inside sh -c 'apt-get -qq install -y --no-install-recommends /packages/noiselab_*.deb' >"$root.log" 2>&1
result $? 'the programs are installed, with what they need'
[ ! -e "$root/usr/bin/R" ]
result $? 'they need no R'
inside noiselab doctor >"$root.log" 2>&1
result $? 'noiselab doctor works'
inside mpirun --oversubscribe -n 2 noiselab-detect --op barrier --levels 1 --design lockin --seconds 3 --out /root/campaign >"$root.log" 2>&1 &&
    [ "$(cat "$root"/root/campaign/*/halves.csv | wc -l)" -gt 20 ]
result $? 'a short run of the detector gives rows'
inside sh -c 'apt-get -qq install -y --no-install-recommends /packages/noiselab-analysis_*.deb' >"$root.log" 2>&1
result $? 'the analysis is installed'
inside noiselab analyze /root/campaign >"$root.log" 2>&1 && grep -q barrier "$root.log"
result $? 'it answers'
inside noiselab report /root/campaign >"$root.log" 2>&1
result $? 'a report is written'
# shellcheck disable=SC2046 # names of packages
mkdir "$root/source" && tar -x -z -C "$root/source" --strip-components=1 -f "$build"/deb/noiselab_*.orig.tar.gz && cp -R "$root/source/packaging/debian" "$root/source/" &&
    inside apt-get -qq install -y --no-install-recommends $(sed -n 's/^Depends: @,//p' "$root/source/debian/tests/control" | tr -d ,) >"$root.log" 2>&1 &&
    inside sh -c 'mkdir /var/tmp/autopkgtest && cd /source && AUTOPKGTEST_TMP=/var/tmp/autopkgtest debian/tests/mpi' >"$root.log" 2>&1
result $? 'their own tests pass (debian/tests)'
rm -rf "$root/source" "$root/var/tmp/autopkgtest"
inside dpkg --audit >"$root.log" 2>&1
result $? 'dpkg finds nothing wrong with them'
inside apt-get -qq purge -y noiselab noiselab-analysis >"$root.log" 2>&1
result $? 'they are removed'
rm -rf "$root/root/campaign" "$root/packages"
ours | grep -vxF -f "$root/before" >"$root.log"
[ ! -s "$root.log" ]
result $? 'and leave nothing: no file, no shared memory, no cgroup'
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
