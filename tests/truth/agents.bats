#!/usr/bin/env bats
# Real agents from Debian's packages, on this machine and its loopback: started, asked, pinned to a rank's CPU, and none left running. What an agent
# used by its own account is held against what the ranks lost.

load ../cli/detect
load agents

# runs BUSY PERIOD: a program on that CPU that runs until the test ends
runs() {
    taskset -c "$(last_cpu)" "${BIN%/bin}/bench/bench_busy" "$1" "$2" >/dev/null 2>&1 3>&- &
    AGENT=$!
}

@test "an agent of 0.1 % is found by what it took, and its period with it" {
    needs_cpus 2
    runs 100us 100ms
    on_rank --agent "--agent-pid $AGENT --agent-name busy" --agent-period 100ms --seconds 6
    used 900 2000
    judge jq -e '.bursts[0].period_s | . > 0.099 and . < 0.101' "$BATS_TEST_TMPDIR/account.json"
    takes
    # found, whatever else ran; without a record of who ran only where this run could have seen it at all
    if jq -e '.taken[0].reason == null' "$BATS_TEST_TMPDIR/account.json" >/dev/null; then
        judge jq -e '.taken[0].p_value < 1e-6' "$BATS_TEST_TMPDIR/account.json"
        return
    fi
    "$BIN/noiselab" analyze --json "$OUT" >"$BATS_TEST_TMPDIR/verdicts.json"
    jq -e '[.verdicts[] | select(.channel == "preempted") | .detection_limit < 0.1] | all' "$BATS_TEST_TMPDIR/verdicts.json" >/dev/null ||
        cannot_tell 'the detection limit is above 0.1 %'
    judge jq -e '[.verdicts[] | select(.channel == "preempted") | .p_one_sided < 0.001] | any' "$BATS_TEST_TMPDIR/verdicts.json"
}

@test "stress-ng at 1 % takes from its rank what it used" {
    long_only
    needs stress-ng
    # slices of 2 ms, as it would otherwise compute for longer than a block and then rest for many
    started "stress-ng --cpu 1 --cpu-load 1 --cpu-load-slice 2 --temp-path $BATS_TEST_TMPDIR" --block 500ms --agent-settle 500ms --seconds 6
    used 5000 30000
    nothing_left "temp-path $BATS_TEST_TMPDIR"
    takes
}

@test "collectd at 0.1 s takes from its rank what it used" {
    long_only
    [ -x /usr/sbin/collectd ] || needs collectd
    started "$(collectd_conf 0.1)" --agent-period 100ms --block 500ms --agent-settle 550ms --seconds 6
    used 200 60000
    nothing_left "$BATS_TEST_TMPDIR/collectd.conf"
    takes
}

@test "node_exporter costs something only while it is asked, and who asks is accounted apart" {
    long_only
    needs prometheus-node-exporter curl
    started "prometheus-node-exporter --web.listen-address=127.0.0.1:$PORT --log.level=error" --agent '--agent-name node_exporter' \
        --agent "--scrape 'curl -s -o /dev/null http://127.0.0.1:$PORT/metrics' --scrape-period 100ms" --agent-period 100ms \
        --block 500ms --agent-settle 550ms --seconds 5
    used 5000 300000
    awk "$header"'{ s[$c["arm"]] += $c["scraper_cpu_ns"] }
        END { print s["on"], s["off"]; exit !(s["on"] > 0 && s["off"] < 0.05 * s["on"]) }' "$OUT"/one/agent.*.csv
    nothing_left "127.0.0.1:$PORT"
}
