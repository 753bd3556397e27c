#!/bin/sh
# parsers.sh SECONDS SEED: libFuzzer on the parsers of C (parsers.c), with the sanitizers. Where clang has no libFuzzer it says so and ends with 0.
# Where rows are kept, the row has what fuzz.sh found before it, too.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/evidence-row.sh
. tests/evidence-row.sh
before=${NOISELAB_BUILD:-build}/fuzz
build=${NOISELAB_BUILD:-build}/fuzz-parsers
mkdir -p "$build"
# presets are read from files, which no disk needs to see
NOISELAB_PRESETS=$(mktemp -d -p /dev/shm noiselab-fuzz-XXXXXX 2>/dev/null) || NOISELAB_PRESETS=$(mktemp -d) || exit 2
export NOISELAB_PRESETS
trap 'rm -rf "$NOISELAB_PRESETS"' EXIT

# keep SECONDS SEED INPUTS STATUS: the row
keep() {
    if [ -s "$before/programs.counts" ] && [ -s "$before/analysis.counts" ]; then :; else return 0; fi
    evidence_row fuzz 'make fuzz SECONDS=SECONDS SEED=SEED: programs, the analysis, libFuzzer on the parsers of C' \
        seed,seconds_each,inputs_programs,bad_programs,inputs_analysis,crashed,hung,wrong_status,inputs_parsers,status_parsers,what \
        "$2" "$1" "$(cat "$before/programs.counts")" "$(cat "$before/analysis.counts")" "$3" "$4" ''
}
if ! echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d && n < 0; }' |
    clang -fsanitize=fuzzer,address,undefined -x c -o "$build/probe" - 2>/dev/null; then
    echo 'parsers: skipped, there is no clang with libFuzzer here'
    keep "$@" 0 ''
    exit 0
fi
# shellcheck disable=SC2046 # words
OMPI_CC=clang MPICH_CC=clang "${MPICC:-mpicc}" -std=gnu11 -D_GNU_SOURCE -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
    -I. $(pkg-config --cflags --libs hwloc jansson) -o "$build/parsers" tests/fuzz/parsers.c common/*/*.c noisegen/patterns/trace.c detector/nodes/switches.c \
    noisegen/kinds/*.c detector/measure/arrival.c -lm -pthread || exit 2
# example PARSER TEXT: what it begins with; the mutator finds the others
example() {
    mkdir -p "$build/corpus-$1"
    n_examples=$((n_examples + 1))
    # shellcheck disable=SC2059 # with escapes
    printf "$2" >"$build/corpus-$1/example.$n_examples"
}
parsers='trace arrival words values places preset nodes switches'
n_examples=0
for parser in $parsers; do rm -f "$build/corpus-$parser"/example*; done
example trace '# span_ns: 1000\n0\t10\t1\t-\tx\n20\t30\t1\tspin\t-\n'
example arrival '0 0 100\n1 5 6 7\n'
example words "collectd -f -C 'a b' \"c\\\\\"d\""
example values '10.5ms'
example places 'sibling:rank:0,same-l3:cpu:1,spare,all'
example trace '# selfish\n0.5 1e1\n0.5 3.25\n# max\n'
example trace ' x-1 [000] 5.0: irq_noise: t:2 start 5.000000120 duration 30 ns\n'
example trace '# Frequency 1000.0\n# Ticks per ns: 2.4\n0 37640\n'
example nodes 'r[1-2,[4-5]]n[08-11,3]-ib.x,login'
example switches 's0.s[3,1-2].node7.x switch.switch.node node7.x'
example preset '# one\nkind = spin\nperiod = 10ms\n'
status=0 total=0
for parser in $parsers; do
    NOISELAB_PARSER=$parser "$build/parsers" -max_total_time="$((($1 + 7) / 8))" -seed="$2" -timeout=10 -max_len=4096 -close_fd_mask=3 -print_final_stats=1 \
        -artifact_prefix="$build/bad-$parser-" "$build/corpus-$parser" 2>"$build/said" || {
        status=$?
        tail -n 40 "$build/said" >&2
    }
    inputs=$(awk '/^stat::number_of_executed_units/ { n = $2 } END { print n + 0 }' "$build/said")
    printf '%-8s %9d inputs\n' "$parser" "$inputs"
    total=$((total + inputs))
done
echo "parsers: $total inputs, status $status"
keep "$1" "$2" "$total" "$status"
exit "$status"
