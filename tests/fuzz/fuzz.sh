#!/usr/bin/env bash
# make fuzz [SECONDS=60] [SEED=1]: mutants of every file and command line that noiselab reads, given to the programs themselves. None may crash, hang
# (10 s) or end with a status outside of 0 to 3. What did is kept in build/fuzz. Exit status 1 if there was one.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=${NOISELAB_BUILD:-build} seconds=${1:-60} seed=${2:-1}
patience=${FUZZ_PATIENCE:-10} # s; beside other tests everything takes longer
work=$PWD/$build/fuzz
mutate=$PWD/$build/fuzz-mutate
rm -rf "$work" && mkdir -p "$work" || exit 2
PATH=$PWD/$build/bin:$PATH
bad=0 n_all=0

# A target is a name, an example, and the command that reads a mutant of it, FILE.
trace() { printf '# span_ns: 1000000000\n0\t41000\t0\t-\tcollectd\n100000000\t39000\t0\tspin\t-\n200000000\t1000\t0\tsum\tx\n'; }
preset() { printf '# a preset\nkind = spin\nperiod = 10ms\nlevel = 1\npattern = poisson\n'; }
verdict() { printf 'verdict: pass\nended_utc: 2026-01-31T23:59:59Z\nfailed: detour lost\n'; }
words() { printf -- '--level\n1\n--period\n10ms\n--kind\nspin,sum\n--pattern\nperiodic\n--on\nlast\n--duration\n1s\n--duty-cap\n50\n--seed\n3\n'; }
agent_words() { printf -- '--agent-cmd\nsleep 1\n--scrape\ntrue\n--scrape-period\n1s\n--agent-cpu\n0\n--agent-name\na\n--who\nnone\n'; }
detect_words() { printf -- '--op\nbarrier,allreduce\n--bytes\n8,2KiB\n--levels\n0,1\n--seconds\n1\n--half-period\n10ms\n--seed\n3\n--design\nlockin\n'; }
record_words() { printf -- '--duration\n1s\n--name\nsleep\n--source\nschedstat\n--cpus\n0\n'; }

# what Slurm, PMI and PALS say: a job's and a task's environment
surroundings() { printf '%s\n' 'SLURM_JOB_NODELIST=r[1-2]n[08-11],x' SLURM_NTASKS=4 SLURM_PROCID=2 SLURM_LOCALID=0 SLURM_STEP_NUM_TASKS=4 PMI_RANK=1 PMI_SIZE=2 \
    PALS_RANKID=0 'SLURM_TOPOLOGY_ADDR=s0.s[1,3].n1.x' SLURM_TOPOLOGY_ADDR_PATTERN=switch.switch.node SLURMD_NODENAME=n1.x; }
node_list() { printf 'r[1-2,[4-5]]n[08-11,3]-ib.x,login\n'; }
selfish() { printf '# Netgauge, selfish\n0.5 41000.25\n100000.5 39000\n100000.5 10\n# max 41000 ns\n'; }
osnoise() { printf '# tracer: osnoise\n x-1 [000] d.h. 5.0: irq_noise: t:2 start 5.000000120 duration 3000 ns\n x-1 [001] d.h. 5.1: thread_noise: a:7 start 5.100000120 duration 30000 ns\n'; }

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

# run_with FILE COMMAND...: the words of a file as further arguments; nothing but a dry run or help may come of them
run_with() {
    local file=$1 line list=()
    shift
    while IFS= read -r line; do list+=("${line:0:100000}"); done <"$file"
    "$@" "${list[@]:0:40}"
}

# fuzz NAME COMMAND...: `FILE` in the command is the mutant; or run_with FILE
fuzz() {
    local name=$1 i=0 n_bad=0 status until=$((SECONDS + share)) file
    shift
    "$name" >"$work/$name"
    while [ "$SECONDS" -lt "$until" ]; do
        "$mutate" "$seed" "$i" 100 "$work/$name" "$work/$name." || exit 2
        for file in "$work/$name".*; do
            [ "$SECONDS" -lt "$until" ] || break
            # shellcheck disable=SC2016 # it is the inner shell that expands
            (cd "$work" && timeout -k 1 "$patience" bash -c '. "$0"; "$@"' "$work/run_with" "${@/FILE/$file}") >/dev/null 2>"$work/said" </dev/null
            status=$?
            i=$((i + 1))
            if [ "$status" -le 3 ] && ! grep -qE 'Sanitizer|runtime error' "$work/said"; then continue; fi
            n_bad=$((n_bad + 1))
            echo "  status $status: $work/bad-$name-$i" >&2
            cp "$file" "$work/bad-$name-$i"
        done
        rm -f "$work/$name".*
    done
    printf '%-24s %6d inputs, %d bad\n' "$name" "$i" "$n_bad"
    bad=$((bad + n_bad)) n_all=$((n_all + i))
}
declare -f run_with in_surroundings >"$work/run_with"

share=$((seconds / 24 + 1))
fuzz trace noiselab-gen --dry-run --replay FILE --pattern replay:loop=yes --duration 1s
fuzz selfish noiselab-gen --dry-run --replay FILE
fuzz osnoise noiselab-gen --dry-run --replay FILE
fuzz node_list run_with FILE "$PWD/$build/libexec/noiselab/noiselab-sh" nodes
fuzz surroundings in_surroundings FILE "$PWD/$build/libexec/noiselab/noiselab-sh" job-nodes
fuzz surroundings in_surroundings FILE noiselab-detect --dry-run --op empty
fuzz preset noiselab-gen --dry-run --preset FILE --duration 1s
fuzz verdict noiselab-node-health FILE
fuzz words run_with FILE noiselab-gen --dry-run
fuzz agent_words run_with FILE noiselab-agent --dry-run
fuzz record_words run_with FILE noiselab-record --help
fuzz detect_words run_with FILE noiselab-detect --dry-run
printf '%s,%s' "$n_all" "$bad" >"$work/programs.counts"
R_LIBS=$build/lib/noiselab/R Rscript --vanilla tests/fuzz/fuzz.R "$mutate" $((seconds / 2)) "$seed" "$work" || bad=$((bad + 1))
[ "$bad" = 0 ]
