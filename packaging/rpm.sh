#!/bin/sh
# rpm.sh BUILD VERSION: RPM packages from the archive that `make dist` has left in BUILD, into BUILD/rpm.
# Where the system's packages are not RPM's own (rpmbuild on Debian), nobody knows what is installed, and
# --nodeps is said.
set -eu
build=$(cd "$1" && pwd) version=$2
command -v rpmbuild >/dev/null || { echo 'rpm.sh: install rpmbuild (RHEL: rpm-build, Debian: rpm)' >&2 &&
    exit 2; }
rm -rf "$build/rpm"
mkdir -p "$build/rpm/SOURCES" "$build/rpm/SPECS"
cp "$build/noiselab-$version.tar.gz" "$build/rpm/SOURCES/"
sed "s/@VERSION@/$version/" "$(dirname "$0")/noiselab.spec" >"$build/rpm/SPECS/noiselab.spec"
nodeps=''
rpm -q rpm >/dev/null 2>&1 || nodeps=--nodeps
# shellcheck disable=SC2086 # a word or none
rpmbuild -bb $nodeps --define "_topdir $build/rpm" "$build/rpm/SPECS/noiselab.spec" >"$build/rpm/build.log" \
    2>&1 || { tail -n 30 "$build/rpm/build.log" >&2; exit 1; }
cd "$build/rpm"
find RPMS -name '*.rpm'
