#!/usr/bin/env bats
# The command line of noiselab-top: what it refuses, its printers and what they share, who is named, and what
# it says where it cannot see. How exact its figures are is the business of tests/truth/top.bats.

load ../helpers

setup() {
    allowed_cpus
    at_home
    mkdir place
    cd place || return
}

# top STATUS OPTION...: ends with that status; $output and $stderr are shown
top() { run "-$1" --separate-stderr noiselab-top "${@:2}"; }

refused() { refused_by noiselab-top "$@"; }

# busy NAME BUSY PERIOD: starts a program of that name; its process id in $busy
busy() {
    cp "$BUILD/bench/bench_busy" "$1"
    "./$1" "$2" "$3" 3>&- &
    busy=$!
    started="${started:-} $busy"
}

# bats test_tags=quick
@test "what cannot be is refused in one line" {
    refused "--interval: '10' is not a positive duration with its unit" --interval 10
    refused "--interval: '1ms' is not a duration from 100ms to 1h" --interval 1ms
    refused "--cpus: '1-' is not a list of CPUs" --cpus 1-
    refused "--cpus: one of them is not here" --cpus 4000
    refused "--pid: 'a' is not a list of process ids" --pid a
    refused "--pid: there is no process 4194000" --pid 4194000 --once
    refused "--pid and --command: choose one" --pid $$ --command x
    refused "--json and --batch: choose one" --json --batch
    refused "--once and --duration: choose one" --once --duration 10s
    refused "--duration is shorter than --interval" --duration 1s
    refused "--sort: 'cpu' is not share, bursts, length, longest or pid" --sort cpu
    refused "--source: 'ftrace' is not auto, cpu or proc" --source ftrace
    refused "--nodes: '0' is not" --nodes 0
    refused "--openmetrics: cannot write 'no/file': No such file or directory" --openmetrics no/file
    refused "--openmetrics: '/dev/full' is not a regular file" --openmetrics /dev/full
    [ -z "$(ls)" ]
}

# bats test_tags=quick
@test "one sample as lines and as JSON has the same fields, of every CPU" {
    top 0 --once --interval 300ms
    [[ "$output" == *"noiselab top itself: "*" % of a CPU, longest burst "* ]]
    [[ "$output" == *"nodes like this, 1,000 of them, synchronising every 1 ms: "* ]]
    [[ "$output" == *"program: "* && "$output" == *" CPU   LOST% "* && "$output" == *"    PID USER "* ]]
    top 0 --once --interval 300ms --json
    [ "${#lines[@]}" -eq 1 ]
    jq -e --argjson n "$(nproc --all)" \
        '.schema == 1 and .program == "noiselab-top" and (.cpus | length) == $n and .interval_ns > 2.9e8 and
        .own.cpu_ns > 0' <<<"$output"
    jq -e '[.cpus[] | has("lost_percent", "longest_ns", "latest_ns", "steal_percent", "interrupts_percent")] |
        all' <<<"$output" ||
        jq -e '.cpus[0] | keys |
        contains(["lost_percent", "longest_ns", "latest_ns", "steal_percent",
        "interrupts_percent"])' <<<"$output"
    jq -e '.tasks[0] | keys |
        contains(["pid", "command", "unit", "user", "bursts_per_second", "length_ns", "period_ns",
        "share_percent", "cpus"])' <<<"$output"
    jq -e '.scale.nodes == 1000 and .scale.every_ns == 1e6' <<<"$output"
    top 0 --once --interval 1200ms --json --nodes 10
    jq -e '.source == "proc" or (.scale | .low_percent <= .slowdown_percent and
        (.high_percent == null or .high_percent >= .slowdown_percent))' <<<"$output"
    [ "$(jq -r .source <<<"$output")" = proc ] ||
        noiselab-top --once --interval 1200ms --nodes 10 |
        grep -Eq '^nodes like this, 10 .*from the last 1 s\)$'
    top 0 --once --interval 300ms --json --cpus "$first_cpu" --nodes 10 --every 10ms --rows 1
    jq -e --argjson cpu "$first_cpu" \
        '[.cpus[].cpu] == [$cpu] and .scale.nodes == 10 and (.tasks | length) <= 2' <<<"$output"
}

# bats test_tags=quick
@test "a pipe gets lines without being asked, one sample each interval" {
    noiselab-top --interval 200ms --duration 600ms | cat >lines
    [ "$(grep -c '^noiselab top  ' lines)" -eq 3 ]
    ! grep -q $'\e' lines
    noiselab-top --interval 200ms --duration 600ms --json >samples
    [ "$(jq -s length samples)" -eq 3 ]
}

# bats test_tags=quick
@test "a reader who goes and a full disk end it, and one line says why" {
    for printer in --batch --json; do
        run bash -c "noiselab-top $printer --interval 100ms 2>said | head -n 1; exit \${PIPESTATUS[0]}"
        [ "$status" -eq 2 ]
        [ "${#lines[@]}" -eq 1 ]
        [ "$(cat said)" = 'noiselab-top: cannot write: nobody reads the output any more' ]
        run bash -c "noiselab-top $printer --interval 100ms >/dev/full"
        [ "$status" -eq 2 ]
        [ "$output" = 'noiselab-top: cannot write: No space left on device' ]
    done
}

@test "who runs is named with process, user, rhythm and CPUs, and the named program disturbs nobody" {
    busy "nlt-a$$" 4ms 40ms
    top 0 --once --interval 2s --json --rows 100
    jq -e --argjson pid "$busy" --arg name "nlt-a$$" \
        '.tasks[] | select(.pid == $pid) | .command == $name and .user != null and .share_percent > 5 and
        .cpus != ""' <<<"$output"
    if jq -e '.source == "cpu"' <<<"$output"; then
        jq -e --argjson pid "$busy" \
            '.tasks[] | select(.pid == $pid) | .bursts_per_second > 20 and
            (.period_ns == null or (.period_ns > 36e6 and .period_ns < 44e6))' <<<"$output"
    fi
    top 0 --once --interval 500ms --json --pid "$busy" --rows 100
    jq -e --argjson pid "$busy" \
        '(.tasks[] | select(.pid == $pid) | .is_program == 1) and (.ranks | test("^program: "))' <<<"$output"
    top 0 --once --interval 500ms --json --command "nlt-a" --rows 100
    jq -e --argjson pid "$busy" '.tasks[] | select(.pid == $pid) | .is_program == 1' <<<"$output"
}

@test "children that have ended count for who started them" {
    # some fifty processes a second, none of which lives for more than some milliseconds
    cat >"nlt-s$$" <<'END'
#!/bin/sh
while :; do
    /bin/true
    sleep 0.01
done
END
    chmod 755 "nlt-s$$"
    "./nlt-s$$" 3>&- &
    started=$!
    for source in cpu proc; do
        run --separate-stderr noiselab-top --once --interval 2s --json --rows 256 --source "$source"
        [ "$status" -eq 0 ] || { [ "$source" = cpu ] && continue; }
        jq -e --arg name "nlt-s$$" \
            '.tasks[] | select(.command == $name) | .share_percent > 0.5 and
            .ended_percent > 0.3' <<<"$output"
    done
}

@test "without privilege the accounts of /proc are read, and what that hides is said" {
    [ "$(id -u)" = 0 ] || skip "becoming another user needs root"
    command -v setpriv >/dev/null || skip "setpriv is not installed"
    [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 0 ] ||
        skip "kernel.perf_event_paranoid allows everything here"
    busy "nlt-b$$" 30ms 100ms
    chmod 755 . .. ../.. && install -m 755 "$(command -v noiselab-top)" .
    run --separate-stderr setpriv --reuid 65534 --regid 65534 --clear-groups ./noiselab-top --once \
        --interval 2s --json --rows 100
    if [[ "$stderr" == *"Permission denied"* ]]; then skip "another user cannot reach $PWD"; fi
    [ "$status" -eq 0 ]
    jq -e '.source == "proc" and (.hidden | test("^hidden: single interruptions, periods, .*CAP_PERFMON")) and
        .cpus[0].longest_ns == null and .scale.slowdown_percent == null' <<<"$output"
    jq -e --argjson pid "$busy" \
        '.tasks[] | select(.pid == $pid) | .share_percent > 15 and .share_percent < 45 and
        .period_ns == null' <<<"$output"
    run --separate-stderr setpriv --reuid 65534 --regid 65534 --clear-groups ./noiselab-top --once \
        --source cpu
    [[ "$status" -eq 2 && "$stderr" == *"source cpu: not allowed to watch CPUs"* ]]
}

@test "where /proc is hidden, time that no visible task had is a row, and counts as lost" {
    [ "$(id -u)" = 0 ] || skip "becoming another user needs root"
    command -v setpriv >/dev/null && command -v unshare >/dev/null ||
        skip "setpriv or unshare is not installed"
    busy "nlt-h$$" 80ms 100ms
    chmod 755 . .. ../.. && install -m 755 "$(command -v noiselab-top)" .
    # shellcheck disable=SC2016 # for the inner shell
    run --separate-stderr unshare -m sh \
        -c 'mount -t proc -o hidepid=2 proc /proc && exec setpriv --reuid 65534 --regid 65534 --clear-groups \
            ./noiselab-top --once --interval 3s --json --source proc'
    [[ "$stderr" != *"mount"* && "$stderr" != *"Permission denied"* ]] ||
        skip "no /proc with hidepid can be mounted here"
    [ "$status" -eq 0 ]
    jq -e '.unaccounted_percent > 40 and (.tasks[] | select(.pid == 0) | .command == "unaccounted" and
        .share_percent > 40) and .lost_percent > 15' <<<"$output"
}

@test "where /proc is that of another PID namespace, its processes are looked at one by one" {
    unshare --pid --fork true 2>/dev/null || skip "no PID namespace can be made here"
    busy "nlt-n$$" 30ms 100ms
    run --separate-stderr unshare --pid --fork noiselab-top --once --interval 2s --json --source proc \
        --rows 256
    [ "$status" -eq 0 ]
    jq -e --argjson pid "$busy" \
        '.tasks[] | select(.pid == $pid) | .share_percent > 1 and .share_percent < 45' <<<"$output"
}

@test "the file of metrics is always whole, has at most twenty tasks and all others as one, and goes" {
    for i in $(seq 1 30); do busy "nlm-$i-$$" 1ms 100ms; done
    umask 077
    noiselab-top --openmetrics here.prom --interval 300ms 3>&- &
    top=$!
    started="$started $top"
    wait_until 10 test -s here.prom
    for i in $(seq 1 60); do
        # one reading: the file is replaced meanwhile
        cat here.prom >seen
        [ "$(tail -n 1 seen)" = '# EOF' ]
        sleep 0.02
    done
    [ "$(stat -c %a here.prom)" = 644 ]
    sleep 0.6
    cat here.prom >seen
    [ "$(grep -c '^noiselab_task_cpu_ratio{' seen)" -eq 21 ]
    grep -q '^noiselab_task_cpu_ratio{task="(others)"} 0\.' seen
    [ "$(grep -c '^noiselab_cpu_lost_ratio{cpu="[0-9]*"} ' seen)" -eq "$(nproc --all)" ]
    # every value has a head, and every metric one
    [ "$(sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' seen | sort)" = \
        "$(grep -v '^#' seen | sed 's/[{ ].*//' | sort -u)" ]
    grep -q '^noiselab_top_own_cpu_ratio 0\.' seen
    # and every metric is in the formats
    formats=$BATS_TEST_DIRNAME/../../docs/reference/formats.md
    sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p' seen |
        while read -r metric; do grep -q "\`$metric\`" "$formats"; done
    kill "$top"
    wait "$top"
    [ ! -e here.prom ] && [ ! -e here.prom.new ]
}

# bats test_tags=quick
@test "every key of a sample is in the formats" {
    top 0 --once --interval 200ms --json
    jq -r 'paths | map(strings) | last // empty' <<<"$output" | sort -u | while read -r key; do
        grep -q "\`$key\`" "$BATS_TEST_DIRNAME/../../docs/reference/formats.md" || { echo "$key"; false; }
    done
}
