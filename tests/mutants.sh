#!/bin/sh
# mutants.sh [REVISION]: puts each small fault of mutants.tsv into a copy of the sources, builds it, and runs
# the suites that could see it. A row each in docs/evidence/mutants.csv; those that the revision has already
# are not tried again. Status 1: one that no test saw.
set -u
cd "$(dirname "$0")/.." || exit 2
revision=${1:-HEAD}
version=$(git rev-parse --short "$revision") || exit 2
build=$PWD/${NOISELAB_BUILD:-build}
tree=$build/mutants/$version
rows=$PWD/docs/evidence/mutants.csv
tab=$(printf '\t')
rm -rf "$tree"
mkdir -p "$tree" docs/evidence
git archive "$revision" | tar -x -C "$tree" || exit 2
# an earlier revision's tests, run one suite at a time as they are today
cp tests/suite.sh tests/environment.sh tests/suites "$tree/tests/"
[ -s "$rows" ] ||
    printf '%s\n' '# make mutants: small faults, and whether a test sees them' \
        fault,file,found,by,version,date >"$rows"

# put FILE OLD NEW: what must stand there once
put() { FILE_OLD=$2 FILE_NEW=$3 perl -0pi -e '
    my ($old, $new) = map { s/\\n/\n/gr } @ENV{qw(FILE_OLD FILE_NEW)};
    my $n = () = /\Q$old\E/g; die "stands there $n times\n" if $n != 1; s/\Q$old\E/$new/' "$tree/$1"; }

# seen_by SUITE...: the first test that fails
seen_by() {
    for suite in "$@"; do
        (cd "$tree" && env -u NOISELAB_BIN -u NOISELAB_R NOISELAB_BUILD=build sh tests/suite.sh "$suite") |
            sed -n "s|^not ok [0-9]* - |$suite: |p" | head -n 1
    done | head -n 1 | tr ',"' ';'"'"
}

missed=0
while IFS=$tab read -r name file old new suites <&3; do
    case $name in '#'*) continue ;; esac
    if grep -q "^$name,[^,]*,yes,.*,$version," "$rows"; then continue; fi
    cp "$tree/$file" "$build/mutants/kept"
    put "$file" "$old" "$new" ||
        {
        echo "$name: $file has another text now: mend tests/mutants.tsv"
        missed=$((missed + 1))
        continue
        }
    units=$(for suite in $suites; do case $suite in unit/*) echo "build/tests/$suite" ;; esac; done)
    # shellcheck disable=SC2086 # lists of names without spaces
    if make -C "$tree" -s -j"$(nproc)" --no-print-directory all $units >"$build/mutants/log" 2>&1; then
        by=$(seen_by $suites); else by='the compiler'
    fi
    found=no
    if [ -n "$by" ]; then found=yes; else missed=$((missed + 1)); fi
    printf '%s,%s,%s,"%s",%s,%s\n' "$name" "$file" "$found" "$by" "$version" \
        "$(date -u +%Y-%m-%dT%H:%M:%SZ)" | tee -a "$rows"
    cp "$build/mutants/kept" "$tree/$file"
done 3<tests/mutants.tsv
awk -F , -v version="$version" '$(NF - 1) == version { last[$1] = $3 }
    END { for (f in last) if (last[f] == "yes") yes++; else no++; printf "%d passed, %d failed\n", yes,
        no }' "$rows"
[ "$missed" = 0 ]
