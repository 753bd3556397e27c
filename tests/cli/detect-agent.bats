#!/usr/bin/env bats
# A real agent as treatment of noiselab-detect: options, rows, failures, how it is left behind, and LIKWID's
# regions.

load detect

is_running() { grep -qs '^State:[[:space:]]*[^TZ[:space:]]' "/proc/$1/status"; }

# start_agent [PERIOD=50ms]: an agent of known dose that runs on its own: sets AGENT
start_agent() {
    "$BIN/noiselab-gen" --level 2 --period "${1-50ms}" --duration 120s --on "cpu:$FIRST_CPU" >/dev/null 2>&1 \
        3>&- &
    AGENT=$!
    wait_for is_running "$AGENT"
}

has_no_companion() { [ "$(pgrep -x noiselab-agent -a | grep -cF -- "--agent-pid=$AGENT")" -eq 0 ]; }

# is_left_running: the agent is as it was before the launch, and nobody of the launch is left
is_left_running() { wait_for is_running "$AGENT" && wait_for has_no_companion; }

# with_agent ARGUMENTS: the launch `one` of one rank with that agent, whose period is that of its start
with_agent() {
    launch 1 --op empty --agent "--agent-pid $AGENT --agent-name ours" --agent-period 50ms --warmup 0s \
        --launch-id one "$@"
}

# bats test_tags=quick
@test "options of an agent without sense, and what the companion does not like, are refused in one line" {
    refused "--agent-period: needs an agent" --agent-period 1s
    refused "no agent: give one of --agent-cmd" --agent '--who cpu'
    refused "--agent-period: needs an agent" --agent-period 1s:interval=1s
    refused "--agent: with --arms ...:external=x" --agent '--agent-cmd y' --design single --arms on:external=x
    refused "--kind: with an agent there is no generator unless levels" --agent '--agent-cmd x' --kind sum \
        --agent-period 1s
    refused "--agent-name: '../a' is not a plain name" --agent '--agent-cmd x --agent-name ../a'
    refused "--agent-name: 'spin' is the name of a load" --agent '--agent-cmd x --agent-name spin' \
        --levels 1 --agent-period 1s
    refused "--noise-nodes: 'a' stands twice" --agent '--agent-cmd x' --noise-nodes a,a
    refused "--agent-period: 100 us is outside" --agent '--agent-cmd x' --agent-period 100us
    refused "--agent-settle: 'x' is not a duration" --agent '--agent-cmd x' --agent-settle x
    refused "--period: no half of a sensible length" --agent '--agent-cmd x' --agent-period 100ms --levels 1 \
        --period 33.333333ms
    refused "--seconds: too short" --agent '--agent-cmd x' --agent-period 10s --seconds 10
    refused "4194999999" --agent '--agent-pid 4194999999' --agent-period 1s --op empty --dry-run
    refused "4194999999" --agent '--agent-pid 4194999999' --agent-period 1s --op empty
    refused "no-such-program" --agent '--agent-cmd no-such-program' --agent-period 1s --op empty
}

# bats test_tags=quick
@test "a dry run names the agent and says what comes on top of the measuring time" {
    "$DETECT" --dry-run --agent "--agent-cmd 'sleep 100'" --agent-period 200ms --op barrier --seconds 4 \
        --warmup 0s >"$BATS_TEST_TMPDIR/plan"
    grep -q '^design lockin: 10 rounds of 2 halves of 200 ms, noise period -$' "$BATS_TEST_TMPDIR/plan"
    grep -q '^agent sleep (agent-cmd)$' "$BATS_TEST_TMPDIR/plan"
    grep -q 'up to 20 switches with 100 ms of settling each are added, 2 s in all' "$BATS_TEST_TMPDIR/plan"
    # the design whose time holds the settling adds none
    "$DETECT" --dry-run --agent "--agent-cmd 'sleep 100'" --agent-period 200ms --op barrier --design quick \
        --seconds 10 --warmup 0s >"$BATS_TEST_TMPDIR/plan"
    grep -q '^--seconds holds up to [0-9]* switches, and the settling after them$' "$BATS_TEST_TMPDIR/plan"
    ! grep 'are added' "$BATS_TEST_TMPDIR/plan" || false
}

@test "an agent that runs is switched from half to half, has its rows, and is left running" {
    start_agent
    launch 1 --op empty,barrier --agent "--agent-pid $AGENT --agent-name ours" \
        --agent-period 50ms:interval=50ms --levels 1 --seconds 2 --warmup 0s --launch-id one
    is_left_running
    one=$OUT/one
    host=$(hostname)
    jq -e --arg pid "$AGENT" \
        '.options | .agent == "ours" and .agent_pid == $pid and .agent_period_ns == 5e7 and
        .agent_settle_ns == 25e6 and .half_period_ns == 1e8
        and .agent_interval_ns == 5e7 and .levels_percent == [1] and .agent_nodes == "all"' "$one/launch.json"
    jq -e '.ended == "complete" and .n_agents == 1 and .n_generators == 1 and (.agents | length) == 1 and
        .hosts[0].agent and .agents[0].name == "ours"' "$one/launch.json"
    # both treatments and off in one random order, the agent's rows without level, pattern, place and phase
    # as many as were asked for, where nothing held the launch up
    n=$(($(jq .rounds_done "$one/launch.json") * 2))
    [ "$n" -ge 4 ]
    [ "$(awk -F , 'NR > 1 {
        print $7 "/" $8 "/" $25 "/" $26 "/" $28 }' "$one/halves.csv" | LC_ALL=C sort | uniq -c |
            awk '{ print $1, $2 }' | tr '\n' ' ')" = \
        "$((2 * n)) off/0/// $n on//ours// $n on/1/spin/periodic/random " ]
    awk -F , -v wanted="$n" \
        'NR > 1 && $25 == "ours" { n++; bad += $22 == "" || $23 $24 $29 != ""; d += $9; w++ }
        END { print n, bad, d / w;
            exit !(n == wanted && bad == 0 && d / w > 0.5 && d / w < 6) }' "$one/halves.csv"
    agent=$one/agent.$host.csv
    [ "$(head -n 1 "$agent")" = \
        "launch,node,host,operation,bytes,pair,order,arm,kind,level_requested_percent,start_ns,wall_ns,\
preempted_ns,switch_ns,settle_ns,agent_cpu_ns,agent_on_ranks_ns,others_on_ranks_ns,preempted_by_agent_ns,\
preempted_by_others_ns,preempted_by_kernel_ns,preempted_by_noiselab_ns,preempted_unknown_ns,scraper_cpu_ns,\
wakeups,voluntary_switches,involuntary_switches,migrations,processes,started,rss_kib,read_bytes,\
written_bytes,observer_cpu_ns,observer_on_ranks_ns,lost_switches,switch_ins,switch_outs,planned_ns" ]
    diff <(awk -F , 'NR > 1 { print $2, $3, $5, $6, $7, $8, $25, $11, $14 }' "$one/halves.csv") <(awk -F , \
        'NR > 1 { print $4, $5, $6, $7, $8, $10, $9, $12, $13 }' "$agent")
    [ "$(awk -F , 'NR == 2 { print $11 }' "$agent")" = 0 ]
    awk -F , 'NR > 1 && ($15 < 25e6 || $14 == "") { bad++ } END { exit bad + 0 }' "$agent"
    awk -F , 'NR > 1 && $9 == "ours" { on += $16 } NR > 1 && $8 == "off" { off += $16 } END {
        print on, off; exit !(off < 0.02 * on) }' "$agent"
    grep -q ",on,,.*,ours,,,$" "$one/hist.csv"
    grep -q ',on,,.*,ours,,,,' "$one/ranks.csv"
    grep -q ',on,,ours,,,,' "$one/nodes.csv"
}

@test "where nothing can record who took the CPUs the agent is switched all the same, which is said" {
    # a kernel that lets nobody count
    shared closed.so <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
long syscall(long n, long a, long b, long c, long d, long e, long f) {
    if (n == SYS_perf_event_open) return errno = EACCES, -1;
    return ((long (*)(long, ...))dlsym(RTLD_NEXT, "syscall"))(n, a, b, c, d, e, f);
}
int open(const char *path, int flags, unsigned mode) {
    return strstr(path, "/schedstat") ? errno = ENOENT, -1
        : (int)syscall(SYS_open, (long)path, flags, mode, 0, 0, 0);
}
END
    start_agent
    LD_PRELOAD=$BATS_TEST_TMPDIR/closed.so with_agent --seconds 1
    grep -q 'the agent is switched all the same, without a record of who took the CPUs' "$ERR"
    jq -e '.ended == "complete" and .agents[0].died == null' "$OUT/one/launch.json"
    [ -z "$(column preempted_by_agent_ns "$OUT"/one/agent.*.csv | tr -d '\n')" ]
    LD_PRELOAD=$BATS_TEST_TMPDIR/closed.so ends 2 with_agent --seconds 1 --agent "--who cpu" --launch-id two
}

@test "a launch takes the time that was planned, however an agent bursts on all CPUs when it is scraped" {
    needs_cpus 2
    # for each SIGUSR1 it is on all CPUs for a third of 150 ms, as one that reads all of /proc when it is
    # scraped
    bash -c 'trap "for i in \$(seq $(nproc)); do timeout 0.05 sh -c \"while :; do :; done\" & done" USR1
        while :; do sleep 1 & wait; done' \
        >/dev/null 2>&1 3>&- &
    AGENT=$!
    launch 2 --op barrier --agent "--scrape 'kill -USR1 $AGENT' --scrape-period 150ms" --agent-period 150ms \
        --seconds 1.2 --warmup 0s --launch-id one
    jq -e '.ended == "complete"' "$OUT/one/launch.json"
    # off and on, and no half longer than twice its time
    awk "$header"'
        { n[$c["arm"]]++; sum += $c["wall_ns"]; planned += $c["planned_ns"];
            if ($c["wall_ns"] > most) most = $c["wall_ns"] }
        END { print n["off"], n["on"], sum, planned, most;
            exit !(n["off"] > 2 && n["on"] > 2) }' "$OUT/one/halves.csv" | tee "$BATS_TEST_TMPDIR/sums"
    # the machine's other work is no part of what is judged
    judge awk '{ exit !($3 < 2 * $4) }' "$BATS_TEST_TMPDIR/sums"
}

@test "an agent that can be frozen has undisturbed segments, and quick pairs of two lengths between them" {
    refused "--design: quick is for an agent that is frozen" --design quick
    refused "--design: quick is for an agent that is frozen" --design quick \
        --agent '--agent-on x --agent-off y'
    refused "--design: quick and --levels cannot be combined" --design quick --agent '--agent-cmd x' \
        --levels 1
    refused "--block: an undisturbed segment must last 20 times as long as a half" --design quick \
        --agent '--agent-cmd x' --block 100ms
    start_agent
    one=$OUT/one
    # of every sort some; on a busy machine, where halves take longer, in more time
    for seconds in 3.5 15; do
        rm -rf "$OUT"
        with_agent --design quick --half-period 10ms --block 300ms --seconds $seconds
        is_left_running
        awk "$header"'{ n[$c["planned_ns"]]++ } END { exit !(n[3e8] >= 1 && n[1e8] >= 2 && n[1e7] >= 20) }' \
            "$one/halves.csv" && break
    done
    jq -e '.ended == "complete" and (.options | .design == "quick" and .half_period_ns == 1e7 and
        .long_half_ns == 1e8 and .block_ns == 3e8)' "$one/launch.json"
    # of every pair an off and an on half of one length; of every stretch one on half; at the end of the time
    # a set may be incomplete, a pair not
    awk "$header"'
        { n[$c["planned_ns"]]++; arms[$c["pair"]] = arms[$c["pair"]] $c["arm"];
            planned[$c["pair"]] = $c["planned_ns"] }
        END { for (p in arms) if (planned[p] == 3e8 ? arms[p] != "on" : arms[p] !~ /^(offon|onoff)$/) {
            print p, planned[p], arms[p]; exit 1 }
            exit !(n[3e8] >= 1 && n[1e8] >= 2 && n[1e7] >= 20) }' "$one/halves.csv"
    # settling: half a period before a stretch, 5 ms before a quick half
    awk "$header"'$c["settle_ns"] < ($c["planned_ns"] == 3e8 ? 25e6 : 5e6) { exit 1 }' "$one"/agent.*.csv
    diff <(column planned_ns "$one/halves.csv") <(column planned_ns "$one/agent.$(hostname).csv")
    awk "$header"'{ used[$c["arm"]] += $c["agent_cpu_ns"] } END {
        print used["on"], used["off"]; exit !(used["off"] < 0.05 * used["on"]) }' "$one"/agent.*.csv
}

@test "an agent that is busy while it starts has settled before it is measured" {
    # a second of CPU time, then nothing
    cat >"$BATS_TEST_TMPDIR/starter" <<'END'
#!/usr/bin/env python3
import time
while time.process_time() < 1:
    pass
time.sleep(1000)
END
    chmod 755 "$BATS_TEST_TMPDIR/starter"
    launch 1 --op empty --agent "--agent-cmd $BATS_TEST_TMPDIR/starter --freeze" --agent-period 20ms \
        --half-period 20ms --warmup 0s --seconds 2 --launch-id one
    awk "$header"'$c["arm"] == "on" { used += $c["agent_cpu_ns"]; n++ } END {
        print used, n; exit !(n >= 10 && used < 1e8) }' "$OUT"/one/agent.*.csv
    # one that ends meanwhile says so
    printf '#!/bin/sh\nsleep 0.2\necho no disk >&2\nexit 4\n' >"$BATS_TEST_TMPDIR/starter"
    fails_with 2 'no disk' launch 1 --op empty --agent "--agent-cmd $BATS_TEST_TMPDIR/starter --freeze" \
        --agent-period 20ms --half-period 20ms --warmup 0s --seconds 2 --launch-id two
}

# launch_of_mortal ARGUMENTS: a launch whose agent is killed once there are rows: it fails, and says so
launch_of_mortal() {
    start_agent 20ms
    (
        wait_until 60 has_rows
        kill -9 "$AGENT"
    ) 3>&- &
    fails_with 2 '' launch 1 --op empty --agent "--agent-pid $AGENT" --agent-period 20ms --half-period 20ms \
        --agent-settle 5ms --warmup 0s --launch-id one "$@"
    jq -e '(.ended | startswith("failed: the agent")) and .agents[0].died != null' "$OUT/one/launch.json"
}

@test "an agent that dies ends the launch with what it has, beside a generator, too" {
    launch_of_mortal --seconds 60 --levels 1
    [ "$(jq -r .rows "$OUT/one/launch.json")" -eq "$(tail -n +2 "$OUT/one/halves.csv" | wc -l)" ]
    [ "$(jq -r .rows "$OUT/one/launch.json")" -ge 20 ]
}

@test "however the ranks end, the agent is left running, and the rows are readable" {
    for signal in TERM KILL; do
        rm -rf "$OUT"
        start_agent 10ms
        exec_on_cores 1 "$DETECT" --out "$OUT" --op empty --seconds 60 --warmup 0s --launch-id one \
            --agent "--agent-pid $AGENT" --agent-period 10ms --half-period 10ms \
            --agent-settle 5ms >/dev/null 2>"$ERR" 3>&- &
        MPIRUN=$!
        wait_until 60 has_rows
        kill -$signal $(ranks_of "$MPIRUN")
        wait "$MPIRUN" || true
        is_left_running
        kill -9 "$AGENT"
        awk -F , 'NF != 44 { exit 1 }' "$OUT/one/halves.csv"
        [ $signal = KILL ] || jq -e '.ended == "interrupted" and (.agents | length) == 1' \
            "$OUT/one/launch.json"
    done
}

@test "with design single a launch of off arms keeps the agent off" {
    start_agent
    for arm in off on; do with_agent --design single --arms $arm --seconds 0.5 --launch-id $arm; done
    is_left_running
    host=$(hostname)
    [ "$(column arm "$OUT/off/blocks.csv")" = off ]
    [ "$(column kind "$OUT/on/blocks.csv")" = ours ]
    [ "$(column agent_cpu_ns "$OUT/off/agent.$host.csv")" -lt 1000000 ]
    [ "$(column agent_cpu_ns "$OUT/on/agent.$host.csv")" -gt 5000000 ]
}

# under_likwid COMMAND...: with what likwid-perfctr -m sets for its program
under_likwid() {
    LIKWID_MODE=1 LIKWID_FILEPATH=$BATS_TEST_TMPDIR/regions LIKWID_EVENTS=CLOCK LIKWID_THREADS=$FIRST_CPU "$@"
}

is_built_with_likwid() { "$DETECT" --version | grep -q 'with liblikwid'; }

@test "counters that LIKWID cannot have are said once, and the launch goes on" {
    is_built_with_likwid || skip 'built without LIKWID'
    ! likwid-perfctr -C "$FIRST_CPU" -g CLOCK -m true >/dev/null 2>&1 || skip 'this machine has counters'
    under_likwid launch 2 --op barrier --levels 1 --seconds 0.2 --warmup 0s --launch-id one
    [ "$(grep -c 'LIKWID asks for counters' "$ERR")" -eq 1 ]
    # what a busy machine has said of itself aside
    [ "$(grep -cvE 'before measuring|rounds were run' "$ERR")" -eq 1 ]
    jq -e '.ended == "complete" and .likwid.active == false and (.likwid.reason | length > 5) and
        (.warnings[0] | startswith("LIKWID"))' "$OUT/one/launch.json"
    # outside of LIKWID nobody speaks of it
    launch 1 --op barrier --levels 1 --seconds 0.2 --warmup 0s --launch-id two
    [ "$(grep -c LIKWID "$ERR")" -eq 0 ]
    jq -e '.likwid.active == false and .likwid.reason == null' "$OUT/two/launch.json"
}

@test "each recorded loop is a region named after operation and arm" {
    is_built_with_likwid || skip 'built without LIKWID'
    # this machine may have no counters: a library of LIKWID's marker functions that writes down how it is
    # called
    shared "$("$DETECT" --version | sed 's/.*with //')" <<'END'
#include <stdio.h>
#include <stdlib.h>
static FILE *f;
void likwid_markerInit(void) { f = fopen(getenv("LIKWID_FILEPATH"), "w"); }
void likwid_markerThreadInit(void) {}
int likwid_markerRegisterRegion(const char *name) { return fprintf(f, "add %s\n", name) < 0; }
int likwid_markerStartRegion(const char *name) { return fprintf(f, "start %s\n", name) < 0; }
int likwid_markerStopRegion(const char *name) { return fprintf(f, "stop %s\n", name) < 0; }
void likwid_markerClose(void) { fclose(f); }
END
    LD_LIBRARY_PATH=$BATS_TEST_TMPDIR under_likwid launch 1 --op empty,alltoall --levels 0.3 --seconds 0.4 \
        --warmup 0s --launch-id one
    [ "$(grep -c '^add ' "$BATS_TEST_TMPDIR/regions")" -eq 4 ]
    diff <(grep -v '^add ' "$BATS_TEST_TMPDIR/regions") <(awk -F , 'NR > 1 {
        region = $2 ($3 > 0 ? "_" $3 : "") ":" ($7 == "off" ? "off" : $25 "_" $8)
        print "start " region
        print "stop " region
    }' "$OUT/one/halves.csv")
    jq -e '.likwid.active' "$OUT/one/launch.json"
}

@test "LIKWID=yes without LIKWID is refused in one line, and LIKWID=no builds without it" {
    tree=$BATS_TEST_DIRNAME/../..
    # no header is found under -nostdinc
    run -2 make -C "$tree" --no-print-directory -n LIKWID=yes CFLAGS=-nostdinc programs
    [ "${#lines[@]}" -eq 1 ]
    [[ "${lines[0]}" == *'LIKWID=yes: likwid.h or liblikwid is not found'* ]]
    run -2 make -C "$tree" --no-print-directory -n LIKWID=perhaps programs
    [[ "${lines[0]}" == *'LIKWID=perhaps: it is auto, yes or no'* ]]
    # the file that knows of LIKWID, both ways
    for with in no yes; do
        [ $with = no ] || is_built_with_likwid || skip 'LIKWID is not installed'
        make -C "$tree" --no-print-directory -s LIKWID=$with BUILD="$BATS_TEST_TMPDIR/$with" \
            "$BATS_TEST_TMPDIR/$with/obj/detector/record/markers.o"
        [ "$(nm "$BATS_TEST_TMPDIR/$with/obj/detector/record/markers.o" | grep -c dlopen)" \
            -eq "$([ $with = no ] && echo 0 || echo 1)" ]
    done
}

@test "what the kernel and the ranks count is in a row for each half, and what cannot be counted is named" {
    start_agent
    with_agent --seconds 1
    file=$OUT/one/counters.$(hostname).csv
    diff <(column pair "$OUT/one/halves.csv") <(column pair "$file")
    diff <(column arm "$OUT/one/halves.csv") <(column arm "$file")
    # a rank that spins has its timer, computes, and maps memory; how often depends on the machine
    awk "$header"'
        $c["span_ns"] < 5e7 || $c["cpus"] < 1 || $c["ranks"] != 1 || $c["speed_ns"] <= 0 ||
            $c["faults"] == "" { bad++ }
        { timers += $c["irq_timer"]; known += $c["irq_timer"] != ""; locks += $c["lock_ns"] > 0 }
        END { print NR, bad + 0, timers, known, locks;
            exit !(bad == 0 && (known == 0 || timers > 0) && locks > 0) }' "$file"
    jq -e '.counters | .reading_ns > 0 and .wake_ns > 0 and .read == true and
        (.hardware == null or (.hardware | test("not counted here")))' "$OUT/one/launch.json"
    # who else ran is kept beside the agent's own bursts, where who runs is seen at all
    if jq -e '.agents[0].source == "cpu"' "$OUT/one/launch.json" >"$BATS_TEST_TMPDIR/source" &&
        [ "$(column cpu "$OUT/one/ranks.csv" | head -n 1)" -ge 0 ]; then
        grep -q '^# source: cpu$' "$OUT/one/others.$(hostname).trace"
    fi
    # a launch without a load reads nothing
    launch 1 --op empty --levels none --design single --seconds 0.2 --launch-id two
    jq -e 'has("counters") | not' "$OUT/two/launch.json"
    [ ! -e "$OUT/two/counters.$(hostname).csv" ]
}

@test "counters that take too long to read for such short halves are left out, which is said" {
    start_agent
    shared slow.so <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>
ssize_t pread(int fd, void *text, size_t size, off_t at) {
    if (at == 0) usleep(4000);
    return ((ssize_t (*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread"))(fd, text, size, at);
}
END
    LD_PRELOAD=$BATS_TEST_TMPDIR/slow.so with_agent --half-period 100ms --seconds 1
    jq -e '.ended == "complete" and .counters.read == false and
        ([.warnings[] | select(test("is not read around halves"))] | length == 1)' "$OUT/one/launch.json"
    [ "$(awk 'END { print NR }' "$OUT/one/counters.$(hostname).csv" 2>/dev/null || echo 0)" -eq 0 ]
}
