#!/usr/bin/env bats
# The command line of noiselab-record: what it refuses, what it says when things go wrong while it records,
# and that the trace stays. How exact it is is the business of tests/truth/record.bats.

load ../helpers

setup() {
    allowed_cpus
    at_home
    mkdir place
    cd place || return
}

teardown() {
    tell
    kill -9 ${started-} 2>/dev/null || true
    [ -z "${cgroup-}" ] || { wait_until 5 rmdir "$cgroup/below" && wait_until 5 rmdir "$cgroup"; }
}

# busy [PROGRAM]: starts a program that works 5 ms each 50 ms; its process id in $busy
busy() {
    "${1:-$BUILD/bench/bench_busy}" 5ms 50ms 3>&- &
    busy=$!
    started="${started:-} $busy"
}

# record STATUS OPTION...: ends with that status; $output and $stderr are shown
record() { run "-$1" --separate-stderr noiselab-record "${@:2}"; }

refused() { refused_by noiselab-record "$@"; }

@test "what cannot be recorded is refused in one line" {
    touch here
    refused "what is to be recorded?" --duration 1s
    refused "--duration is missing" --pid $$
    refused "choose one" --pid $$ --name x --duration 1s
    refused "choose one" --name x --duration 1s -- true
    refused "--pid: 'a' is not a list of at most 256 process ids" --pid a --duration 1s
    refused "--pid: there is no process 4194000" --pid 4194000 --duration 1s
    refused "--cgroup: no cgroup '/no/such'" --cgroup /no/such --duration 1s
    refused "--cpus: '1-' is not a list of CPUs" --cpus 1- --duration 1s
    refused "--cpus: '0-99999999999' is not a list of CPUs" --cpus 0-99999999999 --duration 1s
    refused "--source: 'ftrace' is not auto, cpu, thread or schedstat" --source ftrace --pid $$ --duration 1s
    refused "can only be seen by source cpu" --source thread --cpus 0 --duration 1s
    refused "--out: 'here' exists (--force replaces it)" --out here --pid $$ --duration 1s
    refused "--out: '/dev/full' is not a regular file" --out /dev/full --force --pid $$ --duration 1s
    refused "--out: cannot write 'no/file': No such file or directory" --out no/file --pid $$ --duration 1s
    refused "cannot start 'no-such-program': No such file or directory" --out trace -- no-such-program
    refused "'--bogus': unknown option" --bogus
    [ "$(ls)" = here ]
}

@test "a command is started, recorded and ended, a stubborn one too; one that ends ends the recording" {
    record 0 --duration 400ms --out trace --json -- "$BUILD/bench/bench_busy" 5ms 50ms
    # a switch at the begin or the end <<<"$output"
    jq -e '.groups >= 4 and .percent_of_cpu > 3 and .lost == 0 and (.ins - .outs | fabs) <= 2'
    noiselab-gen --replay trace --dry-run
    awk -F '\t' '/^#/ { next } NF != 5 || $4 != "-" || $5 != "bench_busy" { print; exit 1 }' trace
    record 0 --duration 300ms -- sh -c 'trap "" TERM; while :; do :; done'
    [[ "$stderr" == *"did not end within 5 s of SIGTERM and was killed"* ]]
    record 0 --json -- sh \
        -c 'i=0; echo not part of the summary; while [ $i -lt 300000 ]; do i=$((i + 1)); done'
    # where a hypervisor took some of it, the CPU time is not known
    jq -e '.span_ns < 20e9 and (.cpu_ns // .wall_on_cpu_ns) > 1e7' <<<"$output"
}

@test "who ran is said at the end, and who is to be left out is" {
    busy
    record 0 --cpus "$allowed" --duration 600ms
    [[ "$output" =~ "who ran ".*" of a CPU" ]]
    record 0 --cpus "$allowed" --duration 600ms --json
    jq -e '.tasks[] | select(.task == "bench_busy") | .busy_ns > 1e7 and .percent_of_cpu > 1 and
        .cpus != ""' <<<"$output"
    jq -e '.source != "cpu" or (.block_busy_ns | add) == .wall_on_cpu_ns' <<<"$output"
    # by a name of its own: other tests have busy programs, too
    cp "$BUILD/bench/bench_busy" "left$$"
    busy "./left$$"
    run --separate-stderr noiselab-record --cpus "$allowed:except=$busy" --duration 300ms --json
    jq -e --arg name "left$$" '[.tasks // [] | .[].task] | index($name) == null' <<<"$output"
    refused "--cpus: except: is for --cpus alone" --cpus 0:except=1 --pid $$ --duration 1s
}

@test "a command that goes into the background is followed, and ended with all that it started" {
    local mark="nl-background-$$"
    noiselab-record --duration 800ms -- sh -c "setsid sh -c 'while :; do sleep 0.02; done' $mark & exit 0" \
        >"$BATS_TEST_TMPDIR/summary" 2>"$BATS_TEST_TMPDIR/err"
    grep -q "goes on in the background" "$BATS_TEST_TMPDIR/err"
    [ "$(grep -c '^activities *0$' "$BATS_TEST_TMPDIR/summary")" -eq 0 ]
    [ "$(pgrep -fc "[ ]$mark")" -eq 0 ]
}


@test "a process that ends meanwhile is said, and what was recorded stays, as after an interrupt" {
    busy
    (sleep 0.6 && kill -9 "$busy") 3>&- &
    record 0 --pid "$busy" --duration 20s --out trace --json
    [[ "$stderr" == *"process $busy ended after 0."*"what was recorded stays"* ]]
    jq -e '.span_ns < 10e9 and .groups >= 3' <<<"$output"
    noiselab-gen --replay trace --dry-run
    busy
    noiselab-record --pid "$busy" --duration 60s --out other --json 3>&- >summary &
    recorder=$!
    started="$started $recorder"
    sleep 0.8
    kill -INT "$recorder"
    wait "$recorder"
    jq -e '.span_ns < 30e9 and .groups >= 3' summary
    noiselab-gen --replay other --dry-run
    [ ! -e other.new ]
}

@test "a process that does nothing leaves no trace" {
    sleep 60 3>&- &
    started=$!
    record 3 --pid $! --duration 200ms --out trace
    [[ "$stderr" == *"none of what was asked for ran"* ]]
    [ -z "$(ls)" ]
}

@test "without privilege the process's own threads are watched, and the reason is said" {
    [ "$(id -u)" = 0 ] || skip "becoming another user needs root"
    command -v setpriv >/dev/null || skip "setpriv is not installed"
    [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 0 ] ||
        skip "kernel.perf_event_paranoid allows everything here"
    # where others can reach them
    chmod 755 . .. && install -m 755 "$(command -v noiselab-record)" "$BUILD/bench/bench_busy" .
    nobody() {
        run --separate-stderr setpriv --reuid 65534 --regid 65534 --clear-groups "$@"
        echo "$status $output $stderr"
    }
    nobody ./noiselab-record --json --duration 500ms -- ./bench_busy 5ms 50ms
    if [[ "$stderr" == *"Permission denied"* ]]; then skip "another user cannot reach $PWD"; fi
    [ "$status" -eq 0 ]
    jq -e '.source_reason | test("^cpu: not allowed .*CAP_PERFMON")' <<<"$output"
    jq -e '.source == "thread" and .groups >= 4 and .ins <= .outs + 1 and .outs <= .ins + 1' <<<"$output" ||
        jq -e '.source == "schedstat"' <<<"$output"
    nobody ./noiselab-record --json --duration 500ms --source schedstat -- ./bench_busy 5ms 50ms
    jq -e '.source == "schedstat" and .groups >= 2 and .percent_of_cpu > 3' <<<"$output"
    nobody ./noiselab-record --source cpu --duration 500ms -- ./bench_busy 5ms 50ms
    [[ "$status" -eq 2 && "$stderr" == *"not allowed to watch CPU"* ]]
    busy
    nobody ./noiselab-record --cpus "$allowed" --duration 500ms --json
    jq -e '.source == "proc" and .block_busy_ns == null and
        (.tasks[] | select(.task == "bench_busy") | .bursts == null and .busy_ns > 1e7)' <<<"$output"
    nobody ./noiselab-record --cpus "$allowed" --duration 500ms --out /tmp/never.$$
    [[ "$status" -eq 2 && "$stderr" == *"--out: there is no trace where switches cannot be recorded"* ]]
    nobody ./noiselab-record --source thread --duration 500ms --pid "$busy"
    [[ "$status" -eq 2 && "$stderr" == *"they must be your own"* ]]
}

@test "the processes of a cgroup and those below it are recorded" {
    cgroup=/sys/fs/cgroup/record-$$
    [ ! -d /sys/fs/cgroup/freezer ] || cgroup=/sys/fs/cgroup/freezer/record-$$
    mkdir -p "$cgroup/below" 2>/dev/null || { cgroup='' && skip "cannot make a cgroup here"; }
    refused "has no processes now" --cgroup "$cgroup" --duration 1s
    busy
    echo "$busy" >"$cgroup/below/cgroup.procs" || skip "cannot move a process into a cgroup here"
    record 0 --cgroup "$cgroup" --duration 400ms --json
    jq -e '.groups >= 3' <<<"$output"
    record 0 --cgroup "$(basename "$cgroup")" --duration 200ms
    kill -9 "$busy"
}

@test "a full disk is said, the summary is there, and no half a trace" {
    [ "$(id -u)" = 0 ] || skip "a small file system needs root"
    mkdir small
    unshare -m true || skip "no mount namespaces here"
    run --separate-stderr unshare -m sh \
        -c "mount -t tmpfs -o size=4k record small &&
        dd if=/dev/zero of=small/filler bs=4096 count=1 2>/dev/null
        $(command -v noiselab-record) --duration 300ms --json --out small/trace -- \
            $BUILD/bench/bench_busy 5ms 50ms
        status=\$?; ls small >&2; exit \$status"
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"cannot write 'small/trace': No space left on device"* && "$stderr" != *part* ]]
    jq -e '.groups >= 2' <<<"$output"
}

# unseen OPTION...: what noiselab-record says to a user from whom /proc hides all tasks but its own
unseen() {
    run --separate-stderr unshare -m sh -c 'mount -t proc -o hidepid=2 proc /proc && exec "$@"' sh \
        setpriv --reuid 65534 --regid 65534 --clear-groups "$(command -v noiselab-record)" "$@" \
        --duration 1500ms --json
    echo "$stderr"
}

@test "where /proc hides who runs nothing is said to be quiet: the CPUs' own account shows what is missing" {
    [ "$(id -u)" = 0 ] || skip "another user's tasks, and a /proc that hides them, need root"
    unshare -m sh -c 'mount -t proc -o hidepid=2 proc /proc' 2>/dev/null || skip "no mount namespaces here"
    setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$(command -v noiselab-record)" ||
        skip "another user may not read this folder"
    cpu=$first_cpu
    taskset -c "$cpu" "$BUILD/bench/bench_busy" 5ms 10ms 3>&- &
    started="${started:-} $!"
    unseen --cpus "$cpu"
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"nobody accounts for"*"hides the tasks of other users"* ]]
    # half of a CPU runs unseen; whatever else runs there is no less seen
    jq -e '.percent_of_cpu < 5 and .account.unaccounted_percent > 45 and
        .account.worst_cpu.cpu == '"$cpu"' and .account.tasks_there - .account.tasks_seen > 20 and
        (.account.blind | test("hidepid"))' <<<"$output"
    jq -e '.account | .by_cpu[0] as $c |
        ($c.busy_ns - $c.own_ns - $c.tasks_ns - $c.interrupts_ns - $c.steal_ns - $c.unaccounted_ns | fabs) <=
        .resolution_percent / 100 * .span_ns' <<<"$output"
    unseen --name bench_busy
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"which does not mean that none ran"* ]]
    # the same for who may see them
    run --separate-stderr noiselab-record --cpus "$cpu" --duration 1500ms --json
    [ "$status" -eq 0 ]
    jq -e '.percent_of_cpu > 45 and (.account.unaccounted_percent <= 10) and
        .account.blind == null' <<<"$output"
}

@test "a recorder that is hung up or killed leaves nothing of its command behind" {
    for signal in HUP KILL; do
        noiselab-record --source schedstat --duration 100s \
            -- sh -c "sleep 1000.5 & echo \$! >inner.$signal; sleep 1000.5" 3>&- &
        recorder=$!
        started="${started:-} $recorder"
        wait_until 10 test -s inner.$signal
        inner=$(cat inner.$signal)
        kill -0 "$inner"
        kill -$signal $recorder
        wait_until 10 eval "! kill -0 $inner 2>/dev/null"
    done
}
