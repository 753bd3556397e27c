#!/usr/bin/env bash
# make fuzz [SECONDS=60] [SEED=1]: mutants of every file and command line that noiselab reads, given to the
# programs and the analysis, and libFuzzer on the parsers of C, where clang has it. None may crash, hang (10
# s) or end with a status outside of 0 to 3. What did is kept in build/fuzz. Exit status 1 if there was one.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/evidence-row.sh
. tests/evidence-row.sh
build=$PWD/${NOISELAB_BUILD:-build} seconds=${1:-60} seed=${2:-1}
patience=${FUZZ_PATIENCE:-10} # s; beside other tests everything takes longer
work=$build/fuzz
rm -rf "$work" && mkdir -p "$work" || exit 2
PATH=$build/bin:$PATH
bad=0
# inputs of each kind, and those that were bad
declare -A n=([bad]=0 [crashed]=0 [hung]=0 [wrong]=0 [parsers]=0)

# A target is a name, an example, and the command that reads a mutant of it, FILE.
trace() {
    printf '# span_ns: 1000000000\n'
    printf '%s\t%s\t0\t%s\t%s\n' 0 41000 - collectd 100000000 39000 spin - 200000000 1000 sum x
}
preset() { printf '# a preset\nkind = spin\nperiod = 10ms\nlevel = 1\npattern = poisson\n'; }
verdict() { printf 'verdict: pass\nended_utc: 2026-01-31T23:59:59Z\nfailed: detour lost\n'; }
words() {
    printf '%s\n' --level 1 --period 10ms --kind spin,sum --pattern periodic --on last --duration 1s \
        --duty-cap 50 --seed 3
}
agent_words() {
    printf '%s\n' --agent-cmd 'sleep 1' --scrape true --scrape-period 1s --agent-cpu 0 --agent-name a \
        --who none
}
detect_words() {
    printf '%s\n' --op barrier,allreduce --bytes 8,2KiB --levels 0,1 --seconds 1 --half-period 10ms --seed 3 \
        --design lockin
}
record_words() { printf -- '--duration\n1s\n--name\nsleep\n--source\nschedstat\n--cpus\n0\n'; }

# what Slurm, PMI and PALS say: a job's and a task's environment
surroundings() { printf '%s\n' 'SLURM_JOB_NODELIST=r[1-2]n[08-11],x' SLURM_NTASKS=4 SLURM_PROCID=2 \
    SLURM_LOCALID=0 SLURM_STEP_NUM_TASKS=4 PMI_RANK=1 PMI_SIZE=2 \
    PALS_RANKID=0 'SLURM_TOPOLOGY_ADDR=s0.s[1,3].n1.x' SLURM_TOPOLOGY_ADDR_PATTERN=switch.switch.node \
    SLURMD_NODENAME=n1.x; }
node_list() { printf 'r[1-2,[4-5]]n[08-11,3]-ib.x,login\n'; }
selfish() { printf '# Netgauge, selfish\n0.5 41000.25\n100000.5 39000\n100000.5 10\n# max 41000 ns\n'; }
osnoise() {
    printf '%s\n' '# tracer: osnoise' \
        ' x-1 [000] d.h. 5.0: irq_noise: t:2 start 5.000000120 duration 3000 ns' \
        ' x-1 [001] d.h. 5.1: thread_noise: a:7 start 5.100000120 duration 30000 ns'
}

# in_surroundings FILE COMMAND...: with the variables of a file, but none that the shell itself reads
in_surroundings() {
    local file=$1 line list=()
    shift
    while IFS= read -r line; do
        line=${line:0:10000}
        case $line in SLURM*=* | PMI*=* | PALS*=*) list+=("$line") ;; esac
    done <"$file"
    env "${list[@]:0:40}" "$@"
}

# run_with FILE COMMAND...: the words of a file as further arguments; nothing but a dry run or help may come
# of them
run_with() {
    local file=$1 line list=()
    shift
    while IFS= read -r line; do list+=("${line:0:100000}"); done <"$file"
    "$@" "${list[@]:0:40}"
}
declare -f run_with in_surroundings >"$work/run_with"

# by_program FILE COMMAND...: sets status
by_program() {
    # shellcheck disable=SC2016 # it is the inner shell that expands
    (cd "$work" && timeout -k 1 "$patience" bash -c '. "$0"; "$@"' "$work/run_with" "${@:2}") >/dev/null \
        2>"$work/said" </dev/null
    status=$?
    ! grep -qE 'Sanitizer|runtime error' "$work/said" || status=99
    [ "$status" -le 3 ] || n[bad]=$((n[bad] + 1))
}

# by_analysis FILE PLACE WORDS...: of noiselab analyze, with the mutant in place of one of its files
by_analysis() {
    cp "$1" "$2"
    if ! { echo "${*:3}" >&"${R[1]}" && read -r status <&"${R[0]}"; }; then
        echo 'fuzz.R has ended' >&2 && exit 2
    fi
    case $status in
    [0-3]) ;; # 70 is a bug
    139) n[crashed]=$((n[crashed] + 1)) ;;
    124) n[hung]=$((n[hung] + 1)) ;;
    *) n[wrong]=$((n[wrong] + 1)) ;;
    esac
}

# fuzz KIND EXAMPLE SECONDS WORDS...: of the mutants of a file, FILE in the words, for so long, and one at
# least
fuzz() {
    local i=0 n_bad=0 until=$((SECONDS + $3)) file name words
    name=$(basename "$2")
    while [ "$SECONDS" -lt "$until" ]; do
        "$build/fuzz-mutate" "$seed" "$i" 100 "$2" "$work/mutant." || exit 2
        for file in "$work"/mutant.*; do
            [ "$SECONDS" -lt "$until" ] || break
            words=("${@:4}")
            "by_$1" "$file" "${words[@]/#FILE/$file}"
            i=$((i + 1))
            [ "$status" -gt 3 ] || continue
            n_bad=$((n_bad + 1))
            echo "  status $status: $work/bad-$name-$i" >&2
            cp "$file" "$work/bad-$name-$i"
        done
        rm -f "$work"/mutant.*
    done
    printf '%-24s %6d inputs, %d bad\n' "$name" "$i" "$n_bad"
    n[$1]=$((${n[$1]-0} + i)) bad=$((bad + n_bad))
}

# program NAME COMMAND...
program() {
    "$1" >"$work/$1"
    fuzz program "$work/$1" $((seconds / 24 + 1)) "${@:2}"
}
program trace noiselab-gen --dry-run --replay FILE --pattern replay:loop=yes --duration 1s
program selfish noiselab-gen --dry-run --replay FILE
program osnoise noiselab-gen --dry-run --replay FILE
program node_list run_with FILE "$build/libexec/noiselab/noiselab-sh" nodes
program surroundings in_surroundings FILE "$build/libexec/noiselab/noiselab-sh" job-nodes
program surroundings in_surroundings FILE noiselab-detect --dry-run --op empty
program preset noiselab-gen --dry-run --preset FILE --duration 1s
program verdict noiselab-node-health FILE
program words run_with FILE noiselab-gen --dry-run
program agent_words run_with FILE noiselab-agent --dry-run
program record_words run_with FILE noiselab-record --help
program detect_words run_with FILE noiselab-detect --dry-run

coproc R { R_LIBS=$build/lib/noiselab/R Rscript --vanilla tests/fuzz/fuzz.R "$work" "$patience" \
    2>"$work/R.said"; }
read -r _ <&"${R[0]}"
# analysis FILE WORDS...
analysis() {
    cp "$1" "$work/example.${1##*/}"
    fuzz analysis "$work/example.${1##*/}" $((seconds / 16 + 1)) "$@"
    cp "$work/example.${1##*/}" "$1"
}
for file in "$work"/campaign/*/*; do analysis "$file" "$work/campaign" --csv; done
analysis "$work/summary.csv" summary "$work/summary.csv" --csv
analysis "$work/limits" acceptance --limits "$work/limits"
kill "$R_PID"

# parser NAME TEXT...: examples that libFuzzer begins with; it finds the others
parser() {
    local name=$1 i=0 text inputs
    mkdir -p "$parsers/$name"
    # shellcheck disable=SC2059 # with escapes
    for text in "${@:2}"; do i=$((i + 1)) && printf "$text" >"$parsers/$name/example.$i"; done
    NOISELAB_PARSER=$name "$parsers/parsers" -max_total_time=$(((seconds + 7) / 8)) -seed="$seed" \
        -timeout=10 -max_len=4096 -close_fd_mask=3 \
        -print_final_stats=1 -artifact_prefix="$work/bad-$name-" "$parsers/$name" 2>"$work/said" || {
        parsers_status=$?
        tail -n 40 "$work/said" >&2
    }
    inputs=$(awk '/^stat::number_of_executed_units/ { n = $2 } END { print n + 0 }' "$work/said")
    printf '%-24s %6d inputs\n' "$name" "$inputs"
    n[parsers]=$((n[parsers] + inputs))
}

# what was found before stays
parsers=$build/fuzz-parsers parsers_status=''
mkdir -p "$parsers"
# presets are read from files, which no disk needs to see
NOISELAB_PRESETS=$(mktemp -d -p /dev/shm noiselab-fuzz-XXXXXX 2>/dev/null) || NOISELAB_PRESETS=$(mktemp -d) ||
    exit 2
export NOISELAB_PRESETS
trap 'rm -rf "$NOISELAB_PRESETS"' EXIT
if ! echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return d && n < 0; }' |
    clang -fsanitize=fuzzer,address,undefined -x c -o "$parsers/probe" - 2>/dev/null; then
    echo 'parsers: skipped, there is no clang with libFuzzer here'
elif [ "$seconds" -ge 8 ]; then
    # shellcheck disable=SC2046 # words
    OMPI_CC=clang MPICH_CC=clang "${MPICC:-mpicc}" -std=gnu11 -D_GNU_SOURCE -g -O1 \
        -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
        -I. -I"$build/made" $(pkg-config --cflags --libs hwloc jansson) -o "$parsers/parsers" \
        tests/fuzz/parsers.c common/*/*.c detector/nodes/switches.c \
        noisegen/kinds/*.c detector/measure/arrival.c -lm -pthread || exit 2
    parsers_status=0
    parser trace '# span_ns: 1000\n0\t10\t1\t-\tx\n20\t30\t1\tspin\t-\n' \
        '# selfish\n0.5 1e1\n0.5 3.25\n# max\n' \
        ' x-1 [000] 5.0: irq_noise: t:2 start 5.000000120 duration 30 ns\n' \
        '# Frequency 1000.0\n# Ticks per ns: 2.4\n0 37640\n'
    parser arrival '0 0 100\n1 5 6 7\n'
    parser words "collectd -f -C 'a b' \"c\\\\\"d\""
    parser values '10.5ms'
    parser places 'sibling:rank:0,same-l3:cpu:1,spare,all'
    parser nodes 'r[1-2,[4-5]]n[08-11,3]-ib.x,login'
    parser switches 's0.s[3,1-2].node7.x switch.switch.node node7.x'
    parser preset '# one\nkind = spin\nperiod = 10ms\n'
fi
columns=seed,seconds_each,inputs_programs,bad_programs,inputs_analysis,crashed,hung,wrong_status
evidence_row fuzz \
    "make fuzz SECONDS=SECONDS SEED=SEED: programs, the analysis (hung: 10 s of CPU time), libFuzzer on the \
parsers of C" \
    "$columns,inputs_parsers,status_parsers,what" \
    "$seed" "$seconds" "${n[program]}" "${n[bad]}" "${n[analysis]}" "${n[crashed]}" "${n[hung]}" \
    "${n[wrong]}" "${n[parsers]}" "$parsers_status" ''
[ "$bad" = 0 ] && [ "${parsers_status:-0}" = 0 ]
