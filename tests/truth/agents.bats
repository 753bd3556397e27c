#!/usr/bin/env bats
# Real agents from Debian's packages, on this machine and its loopback: started, asked, pinned to a rank's CPU, and none left running. What an agent
# used by its own account is held against what the ranks lost.

load ../cli/detect

# each test has a port and files of its own, by which its agent is known from those of others
setup_file() {
    PORT=$((20000 + $$ % 10000))
    export PORT
}

# on_rank ARGUMENTS: a launch of two ranks, the last of which has the CPU that the agent is bound to
on_rank() {
    launch 2 --op barrier --launch-id one "$@" || { cat "$ERR" && false; }
    cat "$ERR"
    [ "$(jq -r '.placement[-1].cpu' "$OUT/one/launch.json")" = "$(last_cpu)" ]
}

# started COMMAND ARGUMENTS: the same with a command, started and stopped there
started() {
    local command=$1
    shift
    on_rank --agent-cmd "$command" --agent-cpu "$(last_cpu)" --design blocks "$@"
}

# runs BUSY PERIOD: a program on that CPU that runs until the test ends
runs() {
    taskset -c "$(last_cpu)" "${BIN%/bin}/bench/bench_busy" "$1" "$2" >/dev/null 2>&1 3>&- &
    AGENT=$!
}

teardown() {
    [ -z "${AGENT-}" ] || kill "$AGENT" 2>/dev/null || true
    rm -rf "$SHM"
}

last_cpu() { taskset -cp $$ | sed 's/.*: *//; s/.*[,-]//'; }

needs() {
    for program in "$@"; do command -v "$program" >/dev/null || skip "$program is not installed (tests/deps.sh agents)"; done
}

# account FIELD: of the agent, in us per second
account() {
    [ -s "$BATS_TEST_TMPDIR/account.json" ] || "$BIN/noiselab" analyze agent --json "$OUT" >"$BATS_TEST_TMPDIR/account.json"
    jq -r ".accounts[0].$1" "$BATS_TEST_TMPDIR/account.json"
}

# agrees: what the ranks lost, less what other tasks on record took, is the agent's own CPU time within 5 % or 20 us/s, whichever is larger, as far as
# the interval tells. Where a hypervisor takes so much that half of the agent's time could not be told from nothing, nothing can be said.
agrees() {
    local low high own
    low=$(account difference_low) high=$(account difference_high) own=$(account agent_us_per_s)
    echo "the ranks lost $(account stolen_us_per_s) us/s, the agent used $own on their CPUs, others $(account others_us_per_s): difference $low to $high"
    ! awk -v low="$low" -v high="$high" -v own="$own" 'BEGIN { exit !(high - low > own) }' ||
        skip "the difference is known to $low to $high us/s only, of $own: this machine is too busy"
    awk -v low="$low" -v high="$high" -v bound="$(account tolerance_us_per_s)" 'BEGIN { exit !(low <= bound && high >= -bound) }'
}

# used LOW HIGH: the agent's own CPU time in us per second
used() { account cpu_percent | awk -v low="$1" -v high="$2" '{ used = 1e4 * $1; print "used", used; exit !(used >= low && used <= high) }'; }

# nothing_left WORD: no process has it in its command line, and the launch says that the agent was left as it was found
nothing_left() {
    [ -z "$(pgrep -f -- "$1")" ]
    [ "$(jq -r '.agents[].state_left' "$OUT/one/launch.json")" = "$(jq -r '.agents[].state_found' "$OUT/one/launch.json")" ]
    [ "$(jq -r '.agents[].died' "$OUT/one/launch.json")" = null ]
}

collectd_conf() {
    cat >"$BATS_TEST_TMPDIR/collectd.conf" <<EOT
Interval $1
BaseDir "$BATS_TEST_TMPDIR"
PIDFile "$BATS_TEST_TMPDIR/pid"
LoadPlugin cpu
LoadPlugin memory
LoadPlugin load
LoadPlugin interface
LoadPlugin network
<Plugin network>
    Server "127.0.0.1" "$PORT"
</Plugin>
EOT
    printf '%s -f -C %s' "$(command -v collectd || echo /usr/sbin/collectd)" "$BATS_TEST_TMPDIR/collectd.conf"
}

@test "an agent that is busy for 1 ms in each 100 ms takes that much from its rank, and both accounts agree" {
    runs 1ms 100ms
    on_rank --agent-pid "$AGENT" --agent-period 100ms --seconds 12
    used 9500 12000
    # it runs on
    [ "$(jq -r '.agents[0].died' "$OUT/one/launch.json")" = null ]
    before=$(cpu_ticks "$AGENT")
    sleep 3
    [ "$(cpu_ticks "$AGENT")" -gt "$before" ]
    jq -c '.agents[0].switching' "$OUT/one/launch.json"
    agrees
}

@test "an agent of 0.1 % is found by what it stole, and its period with it" {
    runs 100us 100ms
    on_rank --agent-pid "$AGENT" --agent-name busy --agent-period 100ms --seconds 16
    used 900 2000
    "$BIN/noiselab" analyze agent --json "$OUT" >"$BATS_TEST_TMPDIR/agent.json"
    "$BIN/noiselab" analyze --json "$OUT" >"$BATS_TEST_TMPDIR/verdicts.json"
    jq -c '.verdicts[] | select(.channel == "stolen") | [.estimate, .p_one_sided, .verdict]' "$BATS_TEST_TMPDIR/verdicts.json"
    jq -c '.bursts' "$BATS_TEST_TMPDIR/agent.json"
    jq -e '.bursts[0].period_s | . > 0.099 and . < 0.101' "$BATS_TEST_TMPDIR/agent.json"
    # what it stole, where this run could have seen it at all
    jq -e '[.verdicts[] | select(.channel == "stolen") | .detection_limit < 0.1] | all' "$BATS_TEST_TMPDIR/verdicts.json" >/dev/null ||
        skip 'this machine is too busy to see 0.1 % in 8 s'
    jq -e '[.verdicts[] | select(.channel == "stolen") | .p_one_sided < 0.001] | any' "$BATS_TEST_TMPDIR/verdicts.json"
}

@test "stress-ng at 1 % takes from its rank what it used" {
    needs stress-ng
    # slices of 2 ms, as it would otherwise compute for longer than a block and then rest for many
    started "stress-ng --cpu 1 --cpu-load 1 --cpu-load-slice 2 --temp-path $BATS_TEST_TMPDIR" --block 1s --agent-settle 500ms --seconds 12
    used 5000 30000
    nothing_left "temp-path $BATS_TEST_TMPDIR"
    agrees
}

@test "collectd at 0.1 s takes from its rank what it used" {
    [ -x /usr/sbin/collectd ] || needs collectd
    started "$(collectd_conf 0.1)" --agent-period 100ms --block 1s --agent-settle 1050ms --seconds 12
    used 200 60000
    nothing_left "$BATS_TEST_TMPDIR/collectd.conf"
    agrees
}

@test "node_exporter costs something only while it is asked, and who asks is accounted apart" {
    needs prometheus-node-exporter curl
    started "prometheus-node-exporter --web.listen-address=127.0.0.1:$PORT --log.level=error" --agent-name node_exporter \
        --scrape "curl -s -o /dev/null http://127.0.0.1:$PORT/metrics" --scrape-period 100ms --agent-period 100ms \
        --block 1s --agent-settle 550ms --seconds 10
    used 5000 300000
    awk -F , 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { s[$at["arm"]] += $at["scraper_cpu_ns"] }
        END { print s["on"], s["off"]; exit !(s["on"] > 0 && s["off"] < 0.05 * s["on"]) }' "$OUT"/one/agent.*.csv
    nothing_left "127.0.0.1:$PORT"
}

@test "collectd, sadc and top run and end with the launch, whatever they write" {
    needs top
    if [ -x /usr/sbin/collectd ]; then
        started "$(collectd_conf 1)" --agent-period 1s --block 1s --agent-settle 1500ms --seconds 4
        used 20 20000
        nothing_left "$BATS_TEST_TMPDIR/collectd.conf"
        rm -r "$OUT" "$BATS_TEST_TMPDIR/account.json"
    fi
    started 'top -b -d 0.1' --agent-name top --agent-period 100ms --block 500ms --agent-settle 550ms --seconds 4
    used 1000 200000
    nothing_left 'top -b -d 0.1'
    rm -r "$OUT" "$BATS_TEST_TMPDIR/account.json"
    sadc=/usr/lib/sysstat/sadc
    [ -x "$sadc" ] || sadc=/usr/lib64/sa/sadc
    [ -x "$sadc" ] || skip 'sadc is not installed (tests/deps.sh agents)'
    started "$sadc -F 1 1000000 $BATS_TEST_TMPDIR/sa" --agent-name sadc --agent-period 1s --block 1s --agent-settle 1500ms --seconds 4
    used 50 50000
    nothing_left "$BATS_TEST_TMPDIR/sa"
    [ -s "$BATS_TEST_TMPDIR/sa" ]
}

@test "LIKWID's timeline mode without counters ends at once, and that is said" {
    needs likwid-perfctr
    ! likwid-perfctr -c 0 -g CLOCK -t 100ms true >/dev/null 2>&1 || skip 'this machine has counters'
    # it takes a second or two to find that out
    fails_with 2 'ended by itself' launch 2 --op barrier --launch-id one --agent-cmd 'likwid-perfctr -c 0 -g CLOCK -t 100ms sleep 100' \
        --agent-period 100ms --design blocks --block 500ms --agent-settle 4s --seconds 1
    grep -q 'MSR' "$OUT"/one/agent.*.log
    jq -e '.agents[0].died | test("likwid-perfctr")' "$OUT/one/launch.json"
    [ -z "$(pgrep -f 'likwid-perfctr -c 0 -g CLOCK')" ]
}
