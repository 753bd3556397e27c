#!/bin/sh
# parsers.sh SECONDS SEED: libFuzzer on the parsers of C (parsers.c), with the sanitizers. Where clang has no libFuzzer it says so and ends with 0.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=${NOISELAB_BUILD:-build}/fuzz-parsers
mkdir -p "$build/corpus" "$build/presets"
export NOISELAB_PRESETS="$build/presets"
if ! echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d && n < 0; }' |
    clang -fsanitize=fuzzer,address,undefined -x c -o "$build/probe" - 2>/dev/null; then
    echo 'parsers: skipped, there is no clang with libFuzzer here'
    exit 0
fi
# shellcheck disable=SC2046 # words
clang -std=gnu11 -D_GNU_SOURCE -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
    -I. $(pkg-config --cflags --libs hwloc jansson) -o "$build/parsers" tests/fuzz/parsers.c common/*/*.c noisegen/patterns/trace.c \
    noisegen/kinds/*.c detector/measure/arrival.c -lm -pthread || exit 2
# an example of each to begin with; the first byte says which parser it is for
printf 'A# span_ns: 1000\n0\t10\t1\t-\tx\n20\t30\t1\tspin\t-\n' >"$build/corpus/trace" # 65 % 6 = 5, the mutator finds the others
printf '\0000\t10\n20\t30\n' >"$build/corpus/trace0"
printf '\0010 0 100\n1 5 6 7\n' >"$build/corpus/arrival"
printf "\\002collectd -f -C 'a b' \"c\\\\\"d\"" >"$build/corpus/words"
printf '\00310.5ms' >"$build/corpus/value"
printf '\004sibling:rank:0,same-l3:cpu:1,spare,all' >"$build/corpus/place"
printf '\005# one\nkind = spin\nperiod = 10ms\n' >"$build/corpus/preset"
"$build/parsers" -max_total_time="$1" -seed="$2" -timeout=10 -max_len=4096 -close_fd_mask=3 -artifact_prefix="$build/bad-" "$build/corpus" 2>"$build/said"
status=$?
awk '/^stat::number_of_executed_units|^Done|DONE/ { line = $0 } END { print "parsers: " line }' "$build/said"
[ "$status" = 0 ] || tail -n 40 "$build/said" >&2
exit "$status"
