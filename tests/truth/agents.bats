#!/usr/bin/env bats
# Agents on this machine and its loopback: started, asked, pinned to a rank's CPU, and none left running. What
# an agent used by its own account is held against what the ranks lost. Two of them are hard to follow:
# children that live for milliseconds, and hundreds of processes.

load ../cli/detect

# on_rank ARGUMENTS: a launch of two ranks, the last of which has the CPU that an agent is bound to
on_rank() {
    needs_cpus 2
    launch 2 --op barrier --launch-id one "$@"
    [ "$(jq -r '.placement[-1].cpu' "$OUT/one/launch.json")" = "$(last_cpu)" ]
}

# started COMMAND ARGUMENTS: the same with a command, started and stopped
started() { on_rank --agent "--agent-cmd $(printf %q "$1")" --design blocks --agent-settle 550ms "${@:2}"; }

last_cpu() { taskset -cp $$ | sed 's/.*: *//; s/.*[,-]//'; }

# account FIELD: of the agent, in us per second
account() {
    [ -s "$BATS_TEST_TMPDIR/account.json" ] || "$BIN/noiselab" analyze agent \
        --json "$OUT" >"$BATS_TEST_TMPDIR/account.json"
    jq -r ".accounts[0].$1" "$BATS_TEST_TMPDIR/account.json"
}

# used LOW HIGH: the agent's own CPU time in us per second, which others on its CPU may keep it from
used() { judge is_used "$@"; }
is_used() {
    account cpu_percent |
        awk -v low="$1" -v high="$2" \
        '{ used = 1e4 * $1; print "used", used; exit !(used >= low && used <= high) }'
}

# nothing_left WORD: no process has it in its command line, and the launch says that the agent was left as it
# was found
nothing_left() {
    [ -z "$(pgrep -f -- "$1")" ]
    jq -e '.agents[] | .state_left == .state_found and .died == null' "$OUT/one/launch.json"
}

# takes [SHARE]: what the agent took from the ranks by the record of their CPUs is the CPU time that its own
# account says, within SHARE (5 %) and 20 us for each wake-up (what switching costs is in the account, and
# only partly between the records), or within an interval of 50 %, however much else ran. (What it took within
# a rank's own sleep is not on that record; ranks in these operations spin.) Without such a record (other
# accounts than root) what the ranks lost in all, less what other tasks are known for, is held against it, as
# far as its interval tells.
takes() {
    local low high own
    local -r record='.accounts[0].wakeups_per_s as $wakeups | .taken[0] | select(.reason == null)'
    account kind >/dev/null
    if jq -e "$record" "$BATS_TEST_TMPDIR/account.json" >/dev/null; then
        judge jq -e "$record"' | .account_percent as $own |
            (.taken_percent - $own | fabs) <= '"${1:-0.05}"' * $own + 0.002 * $wakeups
            or (.taken_low <= $own and $own <= .taken_high and .taken_high - .taken_low < 0.5 * $own)' \
                "$BATS_TEST_TMPDIR/account.json"
        return
    fi
    low=$(account difference_low) high=$(account difference_high) own=$(account agent_us_per_s)
    echo "the ranks lost $(account preempted_us_per_s) us/s, the agent used $own on their CPUs," \
        "others $(account others_us_per_s): difference $low to $high"
    ! awk -v low="$low" -v high="$high" -v own="$own" 'BEGIN { exit !(high - low > own) }' ||
        cannot_tell "the difference is known to $low to $high us/s only, of $own"
    judge awk -v low="$low" -v high="$high" -v bound="$(account tolerance_us_per_s)" \
        'BEGIN { exit !(low <= bound && high >= -bound) }'
}

@test "an agent of 0.1 % is found by what it took, and its period with it" {
    taskset -c "$(last_cpu)" "${BIN%/bin}/bench/bench_busy" 100us 100ms >/dev/null 2>&1 3>&- &
    AGENT=$!
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
    jq -e '[.verdicts[] | select(.channel == "preempted") | .detection_limit < 0.1] | all' \
        "$BATS_TEST_TMPDIR/verdicts.json" >/dev/null ||
        cannot_tell 'the detection limit is above 0.1 %'
    judge jq -e '[.verdicts[] | select(.channel == "preempted") | .p_one_sided < 0.001] | any' \
        "$BATS_TEST_TMPDIR/verdicts.json"
}

@test "collectd at 0.1 s takes from its rank what it used" {
    long_only
    [ -x /usr/sbin/collectd ] || needs collectd
    sed "s/^Interval 1/Interval 0.1/; s|collectd\\.|$BATS_TEST_TMPDIR/&|" \
        "$BATS_TEST_DIRNAME/../../docs/sample/collectd.conf" >"$BATS_TEST_TMPDIR/conf"
    started "/usr/sbin/collectd -f -C $BATS_TEST_TMPDIR/conf" --agent-period 100ms --block 500ms --seconds 6
    used 200 60000
    nothing_left "$BATS_TEST_TMPDIR/conf"
    takes
}

@test "node_exporter costs something only while it is asked, and who asks is accounted apart" {
    long_only
    needs prometheus-node-exporter curl
    local address=127.0.0.1:$((20000 + $$ % 10000))
    started "prometheus-node-exporter --web.listen-address=$address --log.level=error" \
        --agent "--agent-name node_exporter --agent-cpu $(last_cpu)" \
        --agent "--scrape 'curl -s -o /dev/null http://$address/metrics' --scrape-period 100ms" \
        --agent-period 100ms --block 500ms --seconds 5
    used 5000 300000
    awk "$header"'{ s[$c["arm"]] += $c["scraper_cpu_ns"] }
        END { print s["on"], s["off"];
            exit !(s["on"] > 0 && s["off"] < 0.05 * s["on"]) }' "$OUT"/one/agent.*.csv
    nothing_left "$address"
}

@test "a storm of children that live for a millisecond is all the agent's" {
    long_only
    started "sh -c 'while :; do /bin/true; /bin/true; /bin/true; sleep 0.02; done'" \
        --agent '--agent-name storm' --agent-period 20ms --block 500ms --seconds 20
    # of what it costs to make, load and end a process, some is in no process's account
    takes 0.2
}

@test "hundreds of processes are one agent" {
    long_only
    started "sh -c 'for i in \$(seq 200); do ${BIN%/bin}/bench/bench_busy 50us 1s & done; wait'" \
        --agent '--agent-name many' --agent-period 1s --block 1s --seconds 16
    [ "$(account processes | awk '{ print ($1 >= 200) }')" = 1 ]
    takes
    nothing_left "bench_busy 50us 1s"
}

# kernel_threads: of each thread of the kernel its CPU time so far, ns
kernel_threads() {
    pgrep -P 2 | sed 's|.*|/proc/&/schedstat|' | xargs -r grep -sH . | sed 's/:/ /' || true
}

# kernel_uses: CPU time that threads of the kernel use in two seconds, us per second
kernel_uses() {
    kernel_threads >"$BATS_TEST_TMPDIR/before"
    sleep 2
    kernel_threads >"$BATS_TEST_TMPDIR/after"
    awk 'NR == FNR { was[$1] = $2; next } $1 in was { n += $2 - was[$1] }
        END { printf "%d\n", n / 2e3 }' "$BATS_TEST_TMPDIR/before" "$BATS_TEST_TMPDIR/after"
}

# behalf: of kernel threads that are shown to work for the agent, percent of one CPU together: each by itself,
# or else all of them
behalf() {
    jq 'def shown: map(select(.group == "kernel" and .p_holm <= 0.01 and .percent > 0) | .percent) | add // 0;
        (.behalf_tasks // [] | shown) as $each | if $each > 0 then $each else .behalf // [] | shown end' \
        "$BATS_TEST_TMPDIR/account.json"
}

# about LEAST MOST: that is between the two
about() {
    behalf | awk -v least="$1" -v most="$2" '{ print "behalf", $1; exit !($1 >= least && $1 <= most) }'
}

@test "what threads of the kernel do for an agent that writes is on its behalf, and the headline says so" {
    [ "$(id -u)" -eq 0 ] || skip 'needs root: whose bursts they are is not recorded without it'
    [ "$(nproc)" -le 8 ] || skip 'needs a rank on each CPU: threads of the kernel go where there is none'
    local off on more writes="${BIN%/bin}/bench/bench_mechanism fsync $BATS_TEST_TMPDIR/written"
    off=$(kernel_uses)
    $writes 3>&- &
    started=$!
    on=$(kernel_uses)
    kill "$started"
    more=$((on - off))
    [ "$more" -ge 2000 ] ||
        skip "the file system of $BATS_TEST_TMPDIR has no threads that write: $on us/s with it, $off without"
    launch "$(nproc)" --op barrier --launch-id one --agent "--agent-cmd '$writes' --agent-name writes" \
        --agent-period 50ms --half-period 250ms --agent-settle 50ms --seconds 15
    account kind >/dev/null
    # beside spinning ranks the agent itself writes less often than before
    judge about "$(awk -v us="$more" 'BEGIN { print us / 1e4 / 5 }')" \
        "$(awk -v us="$more" 'BEGIN { print us / 1e4 * 2 }')"
    jq -e '[.sentences[] | select(test("^On behalf of writes,? .* more (from|on) the"))] | length == 1' \
        "$BATS_TEST_TMPDIR/account.json"
}

# loads TASK LOW HIGH: that a setting's value starts it, and how much it takes more with it
loads() {
    jq -e --arg task "$1" --argjson low "$2" --argjson high "$3" '.rows[0].outcome == "slower" and
        (.tasks[0] | .named and .task == $task) and
        (.tasks[0].percent | . >= $low and . <= $high)' "$BATS_TEST_TMPDIR/setting.json"
}

@test "a value of a setting that starts a load is slower, and the load is named with what it takes" {
    [ "$(id -u)" -eq 0 ] || skip 'needs root: whose bursts they are is not recorded without it'
    needs_cpus 2
    local knob=$BATS_TEST_TMPDIR/knob
    echo none >"$knob"
    taskset -c "$(last_cpu)" "${BIN%/bin}/bench/bench_switched" "$knob" 2ms 50ms 3>&- &
    AGENT=$!
    "$BIN/noiselab" run setting --set "$knob=none,load" --settle 30ms --op barrier --seconds 12 --no-report \
        --out "$OUT" 3>&-
    [ -n "$(find "$OUT" -name 'others.*.trace')" ] || skip 'who has the CPUs is not recorded here'
    "$BIN/noiselab" analyze setting --json "$OUT" >"$BATS_TEST_TMPDIR/setting.json"
    jq '.rows[0], .tasks' "$BATS_TEST_TMPDIR/setting.json"
    # 2 ms of each 50 ms
    judge loads bench_switched 3.2 5
    [ "$(cat "$knob")" = none ]
}
