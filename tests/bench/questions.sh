#!/usr/bin/env bash
# questions.sh FILE: the first screens that answer seven questions, into FILE: of a quiet machine, and beside
# four busy loops for each CPU. Nothing else should run meanwhile; both take some eight minutes together.
#   agent     may an agent that takes 1 % of a CPU stay on 1,000 nodes that synchronise every 1 ms?
#   node      is this node quiet, and who disturbs it (20 ms each second of CPU 1)?
#   profile   where does the time of a program go whose rank 1 has 30 % more work (C; mpi4py)?
#   versions  does the new version of an agent (1 % of a CPU) cost more than the old one (0.5 %)?
#   advise    is another algorithm faster than the library's default?
#   slurm     what would be submitted to Slurm?
#   report    what does the first box of a report say?
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/bench/launch.bash
source tests/bench/launch.bash
[ $# -eq 1 ] || { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" >&2 && exit 2; }
file=$(realpath "$1") || exit 2
noiselab=$NOISELAB_BIN/noiselab busy=$build/bench/bench_busy loops=()
halo=$build/tests-mpi/halo_probe
export PATH=$NOISELAB_BIN:$PATH
for program in "$busy" "$halo"; do
    [ -x "$program" ] || stop "$program is not built (try make tests-built)"
done
cd "$work" || exit 2

end() {
    [ ${#loops[@]} -eq 0 ] || { kill "${loops[@]}" && wait "${loops[@]}"; } 2>/dev/null
    rm -rf "$work"
}
trap end EXIT

# beside COMMAND...: runs until the end of the question
beside() {
    "$@" >/dev/null 2>&1 &
    loops+=($!)
}

# question NAME COMMAND...: its screen, status, seconds, lines and columns. The screen is what goes to stdout;
# of a command whose own output has stdout it is what goes to stderr.
question() {
    local began=$SECONDS status widest
    "${@:2}" >screen 2>said
    status=$?
    [ -s screen ] || mv said screen
    widest=$(awk '{ if (length > n) n = length } END { print n + 0 }' screen)
    printf '\n## %s, %s: status %d, %d s, %d lines of at most %d columns\n' "$1" "$state" "$status" \
        "$((SECONDS - began))" "$(wc -l <screen)" "$widest"
    cat screen
}

imbalanced() {
    "$noiselab" profile --out "profile-$state" -- "$MPIRUN_COMMAND" --allow-run-as-root -n 2 \
        "$halo" 2000 2000
}

mpi4py() {
    printf '%s\n' 'from mpi4py import MPI' 'world = MPI.COMM_WORLD' 'for step in range(2000):' \
        '    sum(range(20000 + 6000 * (world.rank == 1)))' '    world.allreduce(step)' >loop.py
    "$noiselab" profile --out "python-$state" -- "$MPIRUN_COMMAND" --allow-run-as-root -n 2 \
        /usr/bin/python3 loop.py
}

boxed() {
    "$noiselab" report "agent-$state" --out "agent-$state.html" >/dev/null || return
    r -e 'x <- paste(readLines(commandArgs(TRUE)), collapse = " "); x <- sub(".*<body[^>]*>", "", x)
        x <- gsub("<style.*?</style>|<svg.*?</svg>|<script.*?</script>", "", x); x <- gsub("<[^>]*>", " ", x)
        cat(strwrap(substr(gsub(" +", " ", x), 1, 1500), 98), sep = "\n")' "agent-$state.html"
}

seven() {
    question agent "$noiselab" run agent --agent-cmd "$busy 2.5ms 250ms" --agent-period 250ms --op allreduce \
        --seconds 60 --margin 1%:nodes=1000,every=1ms --no-report --out "agent-$state"
    beside taskset -c 1 "$busy" 20ms 1s
    question node "$noiselab" run acceptance --quick --no-report --out "node-$state"
    kill "${loops[-1]}" 2>/dev/null
    unset 'loops[-1]'
    question profile imbalanced
    question mpi4py mpi4py
    question versions "$noiselab" run agent --agent-cmd "$busy 2.5ms 250ms" --against "$busy 1.25ms 250ms" \
        --agent-period 250ms --op allreduce --seconds 60 --margin 0.2 --no-report --out "versions-$state"
    question advise "$noiselab" run advise --op allreduce:4KiB --seconds 60 --no-report --out "advise-$state"
    question slurm "$noiselab" run sensitivity --submit --dry-run --nodes 2 --out "slurm-$state"
    question report boxed
}

{
    echo "# $(cd - >/dev/null && git describe --always), $(date -u +%Y-%m-%dT%H:%MZ), $(nproc) CPUs"
    state=quiet
    seven
    state=busy
    for ((i = 0; i < 4 * $(nproc); i++)); do beside timeout 20m sh -c 'while :; do :; done'; done
    seven
} >"$file"
