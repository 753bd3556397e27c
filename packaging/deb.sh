#!/bin/sh
# deb.sh BUILD VERSION: Debian packages from the archive that `make dist` has left in BUILD, into BUILD/deb.
# Lintian has the last word, where it is there.
set -eu
build=$(cd "$1" && pwd) version=$2
cd "$(dirname "$0")"
rm -rf "$build/deb"
mkdir -p "$build/deb"
cp "$build/noiselab-$version.tar.gz" "$build/deb/noiselab_$version.orig.tar.gz"
cd "$build/deb"
tar -x -z -f "noiselab_$version.orig.tar.gz"
cd "noiselab-$version"
cp -R packaging/debian debian
# What is said in one place alone: the version, and the licence.
printf 'noiselab (%s-1) unstable; urgency=medium\n\n  * As in CHANGELOG.md.\n\n -- %s  %s\n' "$version" \
    "$(sed -n 's/^Maintainer: //p' debian/control)" \
    "$(date -R -r Makefile)" >debian/changelog
{
    printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n'
    printf 'Upstream-Name: noiselab\n\nFiles: *\n'
    sed -n 's/^Copyright (c)/Copyright:/p' LICENSE
    echo 'License: Expat'
    sed '1,/^Copyright/d' LICENSE | sed '1d; s/^$/./; s/^/ /'
} >debian/copyright
dpkg-buildpackage -us -uc >../build.log 2>&1 || { tail -n 30 ../build.log >&2; exit 1; }
cd ..
# it goes into no archive, whose bug it could close
if command -v lintian >/dev/null; then
    lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs ./*.changes; else echo \
        'deb.sh: lintian is not installed' >&2
fi
ls ./*.deb
