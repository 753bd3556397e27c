#!/bin/sh
# long.sh [SECONDS [NAME...]]: every suite of the long level (or those of these names), one row each in
# docs/evidence/test-long.csv as it ends. Suites that have a row of this version are not run again, so a run
# that was cut short, or whose SECONDS are over, goes on by the same command. First come those that never ran,
# then those that did not for the longest time: slices get round, though the version moves on.
set -u
cd "$(dirname "$0")/.." || exit 2
build=${NOISELAB_BUILD:-build}
rows=docs/evidence/test-long.csv
seconds=${1:-1000000}
version=$(git describe --always 2>/dev/null || echo unknown)
began=$(date +%s)
[ "$#" = 0 ] || shift
mkdir -p docs/evidence
[ -s "$rows" ] ||
    printf '%s\n' '# make test-long: all suites at their full length' \
        suite,passed,failed,skipped,seconds,version,date >"$rows"
NOISELAB_BUILD=$build tests/run.sh --list long | { [ "$#" = 0 ] && cat ||
    grep -xF "$(printf '%s\n' "$@")"; } >"$build/long-names" || exit 2
awk -F , -v version="$version" \
    'FNR == NR { if ($6 == version && $3 == 0) done[$1]; at[$1] = $7; next } !($1 in done) {
    print at[$1] "," $1 }' "$rows" "$build/long-names" |
    LC_ALL=C sort -s -t , -k 1,1 | cut -d , -f 2 >"$build/long-suites"
failed=0
while read -r name; do
    if [ $(($(date +%s) - began)) -ge "$seconds" ]; then
        echo "# $seconds s are over; the same command goes on"
        break
    fi
    at=$(date +%s)
    NOISELAB_BUILD=$build NOISELAB_TESTS=long NOISELAB_LIBRARIES=build tests/run.sh "$name" </dev/null ||
        failed=$((failed + 1))
    # "N passed, N failed, N skipped"
    # shellcheck disable=SC2046 # three numbers
    set -- $(tr -cd '0-9 ' <"$build/test.summary")
    printf '%s,%d,%d,%d,%d,%s,%s\n' "$name" "${1:-0}" "${2:-1}" "${3:-0}" $(($(date +%s) - at)) "$version" \
        "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >>"$rows"
    # lint, which may be next, wants the page that its rows make
    tests/evidence.sh page >docs/evidence.md.new && mv docs/evidence.md.new docs/evidence.md
done <"$build/long-suites"
awk -F , -v version="$version" '!/^#/ && $6 == version { passed[$1] = $2; failed[$1] = $3 }
    END { for (s in passed) { p += passed[s]; f += failed[s] } printf "%d passed, %d failed\n", p,
        f }' "$rows"
[ "$failed" = 0 ]
