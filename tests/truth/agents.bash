# What the tests with real agents share: one is started, asked and accounted for beside two ranks.
# shellcheck shell=bash

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
    needs_cpus 2
    on_rank --agent-cmd "$command" --agent-cpu "$(last_cpu)" --design blocks "$@"
}

teardown() {
    [ -z "${AGENT-}" ] || kill "$AGENT" 2>/dev/null || true
    rm -rf "$SHM"
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
