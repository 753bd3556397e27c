# What the tests with real agents share: one is started, asked and accounted for beside two ranks.

# each test has a port and files of its own, by which its agent is known from those of others
setup_file() {
    PORT=$((20000 + $$ % 10000))
    export PORT
}

# on_rank ARGUMENTS: a launch of two ranks, the last of which has the CPU that the agent is bound to
on_rank() {
    launch 2 --op barrier --launch-id one "$@"
    [ "$(jq -r '.placement[-1].cpu' "$OUT/one/launch.json")" = "$(last_cpu)" ]
}

# started COMMAND ARGUMENTS: the same with a command, started and stopped there
started() {
    local command=$1
    shift
    needs_cpus 2
    on_rank --agent "--agent-cmd $(printf %q "$command") --agent-cpu $(last_cpu)" --design blocks "$@"
}

last_cpu() { taskset -cp $$ | sed 's/.*: *//; s/.*[,-]//'; }

# account FIELD: of the agent, in us per second
account() {
    [ -s "$BATS_TEST_TMPDIR/account.json" ] || "$BIN/noiselab" analyze agent --json "$OUT" >"$BATS_TEST_TMPDIR/account.json"
    jq -r ".accounts[0].$1" "$BATS_TEST_TMPDIR/account.json"
}

# used LOW HIGH: the agent's own CPU time in us per second, which others on its CPU may keep it from
used() { judge is_used "$@"; }
is_used() { account cpu_percent | awk -v low="$1" -v high="$2" '{ used = 1e4 * $1; print "used", used; exit !(used >= low && used <= high) }'; }

# nothing_left WORD: no process has it in its command line, and the launch says that the agent was left as it was found
nothing_left() {
    [ -z "$(pgrep -f -- "$1")" ]
    [ "$(jq -r '.agents[].state_left' "$OUT/one/launch.json")" = "$(jq -r '.agents[].state_found' "$OUT/one/launch.json")" ]
    [ "$(jq -r '.agents[].died' "$OUT/one/launch.json")" = null ]
}

collectd_conf() {
    cat >"$BATS_TEST_TMPDIR/collectd.conf" <<EOT
FQDNLookup false
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

# takes [SHARE]: what the agent took from the ranks by the record of their CPUs is the CPU time that its own account says, within SHARE (5 %) and 20 us for each wake-up
# (what switching costs is in the account, and only partly between the records), or within an interval of 50 %, however much else ran. (What it took
# within a rank's own sleep is not on that record; ranks in these operations spin.) Without such a record (other accounts than root) what the ranks lost
# in all, less what other tasks are known for, is held against it, as far as its interval tells.
takes() {
    local low high own
    local -r record='.accounts[0].wakeups_per_s as $wakeups | .taken[0] | select(.reason == null)'
    account kind >/dev/null
    if jq -e "$record" "$BATS_TEST_TMPDIR/account.json" >/dev/null; then
        judge jq -e "$record"' | .account_percent as $own | (.taken_percent - $own | fabs) <= '"${1:-0.05}"' * $own + 0.002 * $wakeups
            or (.taken_low <= $own and $own <= .taken_high and .taken_high - .taken_low < 0.5 * $own)' "$BATS_TEST_TMPDIR/account.json"
        return
    fi
    low=$(account difference_low) high=$(account difference_high) own=$(account agent_us_per_s)
    echo "the ranks lost $(account preempted_us_per_s) us/s, the agent used $own on their CPUs, others $(account others_us_per_s): difference $low to $high"
    ! awk -v low="$low" -v high="$high" -v own="$own" 'BEGIN { exit !(high - low > own) }' ||
        cannot_tell "the difference is known to $low to $high us/s only, of $own"
    judge awk -v low="$low" -v high="$high" -v bound="$(account tolerance_us_per_s)" 'BEGIN { exit !(low <= bound && high >= -bound) }'
}
