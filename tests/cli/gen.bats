#!/usr/bin/env bats
# The command line of noiselab-gen.

bats_require_minimum_version 1.5.0

setup() {
    PATH="${NOISELAB_BIN:-$BATS_TEST_DIRNAME/../../build/bin}:$PATH"
    first_cpu=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
    last_cpu=$(taskset -cp $$ | sed 's/.*[^0-9]//')
}

teardown() {
    if [ -n "${started:-}" ]; then kill -9 "$started" 2>/dev/null || true; fi
}

# refused TEXT OPTION...: status 2, nothing on stdout, one line on stderr that begins with the program's name and holds TEXT
refused() {
    local text=$1
    shift
    run --separate-stderr noiselab-gen "$@"
    echo "got status $status, '$stderr'"
    [ "$status" -eq 2 ]
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ "$stderr" == "noiselab-gen: "* ]]
    [[ "$stderr" == *"$text"* ]]
}

# value KEY: a number or word of the certificate in $output
value() {
    printf '%s\n' "$output" | sed -n "s/^ *\"$1\": \"*\\([^\",]*\\)\"*,*\$/\\1/p"
}

# gone_within_1s PID: ended, if perhaps not yet reaped by its new parent
gone_within_1s() {
    local i
    for i in 1 2 3 4 5 6 7 8 9 10; do
        grep -q '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status" 2>/dev/null || return 0
        sleep 0.1
    done
    return 1
}

voluntary_switches() {
    sed -n 's/^voluntary_ctxt_switches:[^0-9]*//p' "/proc/$1/status"
}

@test "values that are not what an option takes are refused by name, with an example" {
    refused "--level: '12x' is not a percentage (try 0.1, 0.3%, 5)" --level 12x --duration 1s
    refused "--level: '-1'" --level=-1 --duration 1s
    refused "--level: 'nan'" --level nan --duration 1s
    refused "--level: 'inf'" --level inf --duration 1s
    refused "--level: ''" --level '' --duration 1s
    refused "--level: '0.0001'" --level 0.0001 --duration 1s
    refused "--level: '100.1'" --level 100.1 --duration 1s
    refused "--duration: '0' is not a positive duration" --level 1 --duration 0
    refused "--duration: '-5s'" --level 1 --duration=-5s
    refused "--duration: '5parsecs'" --level 1 --duration 5parsecs
    refused "--period: '999us' is not a period from 1ms to 60s" --level 1 --duration 1s --period 999us
    refused "--period: '61s'" --level 1 --duration 100s --period 61s
    refused "--phase: 'x'" --level 1 --duration 1s --phase x
    refused "--random-period: '-3' is not a seed" --level 1 --duration 1s --random-period=-3
    refused "--cpu: 'zero'" --level 1 --duration 1s --cpu zero
    refused "--kind: 'burn' is not a kind of load" --level 1 --duration 1s --kind burn
    refused "--array-bytes: '7'" --level 1 --duration 1s --kind sum --array-bytes 7
    refused "--array-bytes: '1000000GiB'" --level 1 --duration 1s --kind sum --array-bytes 1000000GiB
    refused "--duty-cap: '0'" --level 1 --duration 1s --duty-cap 0
    refused "--carry: '1.5'" --level 1 --duration 1s --carry 1.5
    refused "--tolerance: 'much'" --level 1 --duration 1s --tolerance much
    refused "--fifo: '100' is not a priority" --level 1 --duration 1s --fifo 100
    refused "--control-fd: 'x'" --control-fd x
}

@test "options that are unknown, ambiguous, incomplete or misplaced are refused in one line" {
    refused "'--levle': unknown option" --levle 3
    refused "'-x': unknown option" -x
    refused "'--du': several options begin like this" --du 3
    refused "--level: needs a value" --level
    refused "--json: takes no value" --json=yes
    refused "'again': unexpected argument" --level 1 --duration 1s again
}

@test "options that do not go together are refused" {
    refused "--level is missing" --duration 1s
    refused "--duration is missing" --level 1
    refused "--duration: 5 ms is shorter than one period (10 ms)" --level 1 --duration 5ms
    refused "--phase: not shorter than one period" --level 1 --duration 1s --phase 10ms
    refused "--level: 5 % is above the duty cap of 2 %" --level 5 --duty-cap 2 --duration 1s
    refused "--fifo: a level of 60 % is above 50 %" --level 60 --fifo 1 --duration 1s
    refused "--duty-cap: 80 % is above 50 %" --level 5 --fifo 1 --duration 1s --duty-cap 80
    refused "--array-bytes: the kind spin has no array" --level 1 --duration 1s --array-bytes 1MB
    refused "--array-bytes: the kind seed has no array" --level 1 --duration 5s --kind seed --array-bytes 1MB
    refused "--level: not together with --control-fd" --control-fd 5 --level 3
    refused "--kind: 'seed' cannot be switched by a detector" --control-fd 5 --kind seed
}

@test "a control page that is none is refused" {
    refused "--control-fd: 99 is not a control page" --control-fd 99
    head -c 100000 /dev/zero >"$BATS_TEST_TMPDIR/zeros"
    refused "--control-fd: 7 is not a control page" --control-fd 7 7<>"$BATS_TEST_TMPDIR/zeros"
}

@test "a CPU outside of the allowed ones is refused, and the allowed ones are named" {
    refused "--cpu: 4095 is not among the allowed CPUs ($first_cpu" --level 1 --duration 1s --cpu 4095
}

@test "a binding by taskset is respected" {
    if [ "$first_cpu" = "$last_cpu" ]; then skip "only one CPU is allowed here"; fi
    run --separate-stderr taskset -c "$last_cpu" noiselab-gen --level 1 --duration 1s --dry-run
    [ "$status" -eq 0 ]
    [[ "$output" == "would load CPU $last_cpu with 1 % for 1 s: spin, 100 bursts of 100 us, one every 10 ms" ]]
    run --separate-stderr taskset -c "$last_cpu" noiselab-gen --level 1 --duration 1s --cpu "$first_cpu"
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"--cpu: $first_cpu is not among the allowed CPUs ($last_cpu)"* ]]
}

@test "--help lists every option and every kind" {
    run --separate-stderr noiselab-gen --help
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    for option in level duration period phase random-period kind array-bytes cpu duty-cap carry tolerance fifo outlive-parent control-fd json \
        dry-run list-kinds version help; do
        [[ "$output" == *"--$option"* ]]
    done
    help=$output
    run noiselab-gen --list-kinds
    [ "$status" -eq 0 ]
    for kind in spin sum seed; do
        [[ "$output" == *"$kind "* ]]
        [[ "$help" == *"  $kind "* ]]
    done
}

@test "--version names the program" {
    run noiselab-gen --version
    [ "$status" -eq 0 ]
    [[ "$output" == "noiselab-gen "[0-9]* ]]
}

@test "the certificate is valid JSON with every documented key" {
    run --separate-stderr noiselab-gen --level 2 --duration 300ms --cpu "$last_cpu" --json --tolerance 100
    [ "$status" -eq 0 ]
    [ -z "$stderr" ]
    for key in schema program version host kind kind_bytes cpu cpus_seen period_ns level_requested_percent level_delivered_percent ratio \
        tolerance_percent ok elapsed_ns requested_ns delivered_ns overhead_ns bursts_planned bursts_run bursts_merged bursts_late carried_ns \
        dropped_ns lateness_ns p50 p99 max migrations involuntary_switches voluntary_switches policy ended; do
        [[ "$output" == *"\"$key\":"* ]]
    done
    [ "$(value cpu)" = "$last_cpu" ]
    [ "$(value bursts_planned)" = 30 ]
    [ "$(value ended)" = complete ]
    if command -v json_pp >/dev/null; then
        printf '%s' "$output" | json_pp >/dev/null
    else
        skip "no json_pp here to parse it"
    fi
}

@test "a load of 5 % is delivered within its tolerance" {
    run --separate-stderr noiselab-gen --level 5 --duration 2s --cpu "$last_cpu" --json
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(value ok)" = true ]
    [ "$(value bursts_planned)" = 200 ]
    [ "$(value migrations)" = 0 ]
}

@test "every kind runs and says so in one line" {
    for kind in spin sum seed; do
        run --separate-stderr noiselab-gen --level 2 --period 20ms --duration 200ms --kind "$kind" --tolerance 1000
        [ "$status" -eq 0 ]
        [ "${#lines[@]}" -eq 1 ]
        [[ "$output" == "$kind on CPU $first_cpu, "*"10 planned"* ]]
    done
}

@test "random bursts deliver the level, too, and the certificate records the seed" {
    run --separate-stderr noiselab-gen --level 5 --duration 1s --random-period 18446744073709551615 --cpu "$last_cpu" --json
    [ "$status" -eq 0 ]
    [ "$(value random_seed)" = 18446744073709551615 ]
}

@test "a load outside of its tolerance ends with status 1 and says so" {
    # ten bursts of 1 us by whole passes of 250,000 numbers each
    run --separate-stderr noiselab-gen --kind seed --level 0.001 --period 100ms --duration 1s
    [ "$status" -eq 1 ]
    [[ "$output" == "seed on CPU"* ]]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ "$stderr" == *"outside the tolerance of 5 %" ]]
}

@test "at level 0 it sleeps without waking and reports what it used" {
    noiselab-gen --level 0 --duration 60s --json >"$BATS_TEST_TMPDIR/certificate" 3>&- &
    started=$!
    sleep 0.5
    before=$(voluntary_switches "$started")
    sleep 1
    after=$(voluntary_switches "$started")
    [ "$before" = "$after" ]
    kill "$started"
    wait "$started"
    started=
    output=$(cat "$BATS_TEST_TMPDIR/certificate")
    [ "$(value ok)" = null ]
    [ "$(value ratio)" = null ]
    [ "$(value bursts_run)" = 0 ]
    [ "$(value delivered_ns)" -gt 0 ]
}

@test "SIGTERM and SIGINT end the load with its certificate" {
    for signal in TERM INT; do
        # a shell starts background jobs with SIGINT ignored; the generator takes it back
        noiselab-gen --level 5 --duration 60s --cpu "$last_cpu" --json >"$BATS_TEST_TMPDIR/certificate" 3>&- &
        started=$!
        sleep 1
        kill "-$signal" "$started"
        wait "$started"
        started=
        output=$(cat "$BATS_TEST_TMPDIR/certificate")
        [ "$(value ended)" = interrupted ]
        [ "$(value ok)" = true ]
        [ "$(value elapsed_ns)" -lt 10000000000 ]
    done
}

@test "no load outlives its parent, unless it is told to" {
    for flag in "" --outlive-parent; do
        bash -c "noiselab-gen --level 20 --duration 30s $flag >/dev/null 2>&1 & echo \$! >'$BATS_TEST_TMPDIR/pid'; wait" 3>&- &
        parent=$!
        sleep 0.5
        started=$(cat "$BATS_TEST_TMPDIR/pid")
        [ -d "/proc/$started" ]
        kill -9 "$parent"
        if [ -z "$flag" ]; then
            gone_within_1s "$started"
        else
            sleep 0.5
            [ -d "/proc/$started" ]
            kill -9 "$started"
        fi
        started=
    done
}

@test "real-time scheduling is granted or refused with its reason" {
    run --separate-stderr noiselab-gen --level 5 --duration 500ms --fifo 1 --cpu "$last_cpu" --json
    if [ "$status" -eq 2 ]; then
        [[ "$stderr" == *"--fifo: "*"real-time scheduling"* ]]
        [ "${#stderr_lines[@]}" -eq 1 ]
    else
        [ "$(value policy)" = fifo:1 ]
    fi
    # as a user without the privilege
    if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null; then skip "needs root to give the privilege up"; fi
    run --separate-stderr setpriv --bounding-set=-all --inh-caps=-all noiselab-gen --level 5 --duration 500ms --fifo 1
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"--fifo: this user may not use real-time scheduling"* ]]
}

@test "a certificate that cannot be written is an error" {
    [ -w /dev/full ] || skip "no /dev/full here"
    run --separate-stderr bash -c 'noiselab-gen --level 0 --duration 100ms >/dev/full'
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"cannot write the certificate"* ]]
}
