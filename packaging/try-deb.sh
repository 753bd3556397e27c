#!/bin/bash
# try-deb.sh BUILD FOLDER [OLDER]: the packages of BUILD/deb in an emptied Debian 12 in FOLDER (as root, by
# debootstrap): programs without R are installed and used, as an earlier version, then the analysis; both are
# upgraded, used and removed, and nothing of them may be left; autopkgtest installs them once more, and runs
# their own tests. OLDER: a folder with the packages of the earlier version (`make deb` of its commit);
# without it the earlier ones are these, with a lower version and a file more. The last line is "N passed, N
# failed".
set -u
build=$(readlink -f "$1") root=$2 older=${3-}
passed=0 failed=0
[ "$(id -u)" = 0 ] || { echo 'try-deb.sh: only root can make a system within this one' >&2 && exit 2; }
for command in debootstrap autopkgtest; do
    command -v "$command" >/dev/null || { echo "try-deb.sh: install $command" >&2 && exit 2; }
done
ls "$build"/deb/noiselab_*.deb >/dev/null 2>&1 || { echo 'try-deb.sh: make deb first' >&2 && exit 2; }
[ ! -e "$root" ] || { echo "try-deb.sh: '$root' is there already" >&2 && exit 2; }

inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive OMPI_ALLOW_RUN_AS_ROOT=1 \
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$@"; }

# result STATUS NAME
result() {
    if [ "$1" = 0 ]; then
        passed=$((passed + 1)) && echo "ok - $2"; else failed=$((failed + 1)) && echo "not ok - $2" &&
            tail -n 5 "$root.log" | sed 's/^/# /'
    fi
}

unmount() {
    local place
    for place in dev proc sys; do
        ! mountpoint -q "$root/$place" || umount "$root/$place" || umount -l "$root/$place"
    done
}
# nothing of this machine may be under the folder when it is removed
end() {
    unmount && ! grep -qs " $(readlink -f "$root")/" /proc/mounts &&
        rm -rf --one-file-system "$root" "$root.log" "$root.older" "$root.old-files"
}
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
# every file, of shared memory, too (the folder has its own), and cgroups of ours that nobody is in
files() {
    inside find / /dev/shm -xdev | sort
    find /sys/fs/cgroup -type d -name '*noiselab*' -exec sh \
        -c 'test -e "$0/cgroup.procs" && ! grep -q . "$0/cgroup.procs"' {} \; -print
}
# what is an earlier version's alone
old_files() {
    for name in noiselab noiselab-analysis; do
        dpkg-deb -c "$root/packages/older/$name.deb" | awk '{ print $6 }' | grep -v '/$'
    done | sort >"$root.old-files"
    for name in noiselab noiselab-analysis; do
        dpkg-deb -c "$root/packages/$name.deb" | awk '{ print $6 }'
    done | sort | comm -23 "$root.old-files" -
}
# the verdicts that 1.x keeps (docs/reference/promises.md)
answer() {
    inside noiselab analyze /root/campaign --json 2>"$root.log" | jq -r '.estimates[] |
        select(.value != null and .verdict != null) |
        [.quantity, .operation, .level_requested_percent, .n, .verdict, (.value * 1e4 | round / 1e4)] |
        @tsv' | sort
}
# depends PACKAGE: what it needs but ours; install FILE...
depends() { dpkg-deb -f "$root/packages/$1".deb Depends | sed 's/noiselab ([^)]*), //'; }
install() { inside apt-get -qq install -y --no-install-recommends "$@" >"$root.log" 2>&1; }

inside apt-get -qq update >"$root.log" 2>&1 || { tail -n 5 "$root.log" >&2; exit 2; }
mkdir "$root/packages" "$root/packages/older"
for name in noiselab noiselab-analysis; do
    cp "$build/deb/${name}_"*.deb "$root/packages/$name.deb"
    if [ -n "$older" ]; then
        cp "$older/${name}_"*.deb "$root/packages/older/$name.deb" || exit 2
        continue
    fi
    # the same as an earlier version, which has a file more
    dpkg-deb -R "$root/packages/$name.deb" "$root.older" && : >"$root.older/usr/lib/noiselab/of-$name" &&
        sed -i -E 's/^(Version: ).*/\10.0.1-1/; s/(noiselab \(= )[^)]*/\10.0.1-1/' \
        "$root.older/DEBIAN/control" &&
        dpkg-deb -b "$root.older" "$root/packages/older/$name.deb" >"$root.log" && rm -r "$root.older" ||
        exit 2
done

inside apt-get -qq satisfy -y --no-install-recommends "$(depends noiselab)" >"$root.log" 2>&1
result $? 'what the programs need is there'
files >"$root/packages/before"
earlier=$(dpkg-deb -f "$root/packages/older/noiselab.deb" Version)
install /packages/older/noiselab.deb && inside dpkg-query -W noiselab | grep -F "$earlier" >"$root.log"
result $? "an earlier version of the programs is installed ($earlier)"
[ ! -e "$root/usr/bin/R" ]
result $? 'it needs no R'
inside noiselab doctor >"$root.log" 2>&1
result $? 'noiselab doctor works'
inside mpirun --oversubscribe -n 2 noiselab-detect --op barrier --levels 1 --design lockin --seconds 3 \
    --out /root/campaign >"$root.log" 2>&1 &&
    [ "$(cat "$root"/root/campaign/*/halves.csv | wc -l)" -gt 20 ]
result $? 'a short run of the detector gives rows'
# what comes with R alone is not ours either
files >"$root/packages/without-r"
inside apt-get -qq satisfy -y --no-install-recommends "$(depends noiselab-analysis)" >"$root.log" 2>&1
result $? 'what the analysis needs is there'
files | comm -13 "$root/packages/without-r" - >>"$root/packages/before"
install /packages/older/noiselab-analysis.deb && answer >"$root/packages/answer" &&
    grep -q barrier "$root/packages/answer"
result $? 'an earlier version of the analysis is installed, and answers'

install /packages/noiselab.deb /packages/noiselab-analysis.deb && ! inside dpkg-query -W |
    grep noiselab | grep -F "$earlier" >"$root.log"
result $? 'both are upgraded'
old_files | while read -r file; do [ ! -e "$root/$file" ] || echo "$file"; done >"$root.log"
[ ! -s "$root.log" ]
result $? "no file is left that the earlier version alone has ($(old_files | wc -l) are gone)"
answer | diff "$root/packages/answer" - >>"$root.log"
result $? 'the campaign of the earlier version has the same answer'
inside noiselab report /root/campaign >"$root.log" 2>&1
result $? 'a report is written'
inside dpkg --audit >"$root.log" 2>&1 && [ ! -s "$root.log" ]
result $? 'dpkg finds nothing wrong with them'

inside noiselab-agent --restore >"$root.log" 2>&1 && [ -d "$root/run/noiselab" ]
result $? 'noiselab-agent keeps its notes in /run'
inside apt-get -qq remove -y noiselab noiselab-analysis >"$root.log" 2>&1 && ! inside dpkg-query -W |
    grep noiselab >"$root.log"
result $? 'they are removed, and there is nothing to purge'
rm -rf "$root/root/campaign"
files | grep -vxF -f "$root/packages/before" | grep -v '^/packages' >"$root.log"
[ ! -s "$root.log" ]
result $? 'and leave nothing: no file, no shared memory, no cgroup'

autopkgtest --no-built-binaries "$root"/packages/*.deb "$build"/deb/noiselab_*.dsc \
    -- chroot "$root" >"$root.log" 2>&1
result $? 'their own tests pass (debian/tests, by autopkgtest)'
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
