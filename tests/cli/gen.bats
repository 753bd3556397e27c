#!/usr/bin/env bats
# The command line of noiselab-gen. How exactly loads are delivered is the business of
# tests/truth/patterns.bats: here the machine may be busy, so tolerances are wide.

load ../helpers

setup() {
    unset NOISELAB_PRESETS SLURM_NODEID SLURM_STEP_NUM_NODES SLURM_JOB_NUM_NODES
    allowed_cpus
    at_home
}

refused() { refused_by noiselab-gen "$@"; }
dry() { dry_by noiselab-gen "$@"; }

# value KEY: what the certificate in $output says, itself, not its parts
value() { jq -r ".$1" <<<"$output"; }

# says EXPRESSION: the certificate in $output makes it true; several facts at once, since starting jq takes
# longer than a short load
says() { jq -e "$1" <<<"$output" >/dev/null; }

# in_background OPTION...: a load on all CPUs, once it has its threads; its pid is in `started`
in_background() {
    noiselab-gen "$@" --on all --json >certificate 3>&- &
    started=$!
    wait_until 30 has_threads "$started" "${#cpus[@]}"
}

# its_end [SIGNAL]: of that load, which ends well with its certificate in $output
its_end() {
    [ -z "${1-}" ] || kill "-$1" "$started"
    wait "$started"
    started=
    output=$(cat certificate)
}

# certified OPTION...: runs to its end, with a certificate in JSON in $output and nothing on stderr
certified() {
    run -0 --separate-stderr noiselab-gen --json "$@"
    [ -z "$stderr" ]
}

# failed TEXT: what `run` ran ended with status 2, one line with TEXT on stderr, and a certificate in JSON
# that says the same
failed() {
    [ "$status" -eq 2 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ "$stderr" == "noiselab-gen: "*"$1"* ]]
    [[ "$(value ended)" == "failed: "*"$1"* ]]
    [ "$(value bursts_run)" -gt 0 ]
    # at once, not at the end of the 20 s
    [ "$(value elapsed_ns)" -lt 15000000000 ]
}


n_threads() { ls "/proc/$1/task" | wc -l; }

has_threads() { [ "$(n_threads "$1" 2>/dev/null)" = "$2" ]; }

# trace LINE...: a trace of these lines, blanks for tabs, in the file "trace"
trace() { printf '%s\n' "$@" | tr ' ' '\t' >trace; }

# bad WORD VALUE...: each is refused as a value of an option, or of a key of it, as pattern:jittered:jitter
bad() {
    local option=${1%%:*} key=${1#*:} value
    [ "$key" != "$option" ] || key=''
    for value in "${@:2}"; do
        refused "--$option: ${key:+${key##*:}: }'$value'" --level 1 --duration 1s "--$option" \
            "${key:+$key=}$value"
    done
}

@test "wrong values, and options that are unknown, incomplete, misplaced or at odds are refused in one line" {
    refused "--level: '12x' is not a percentage (try 0.1, 0.3%, 5)" --level 12x --duration 1s
    refused "--phase: 'x' is not a duration (try 0s, 2.5ms), aligned, staggered or random" --level 1 \
        --duration 1s --phase x
    refused "--phase: node: '4/4' is not a node and the number of nodes (try 0/4, the first of four)" \
        --level 1 --duration 1s --phase staggered:node=4/4
    refused "--rate: '0' is not a rate per second (try 100, 2.5, 10k, 500MB)" --kind syscall --rate 0 \
        --duration 1s
    refused "--kind: 'burn' is not a kind of load (see --list kinds)" --level 1 --duration 1s --kind burn
    bad level 0.0001 100.1
    bad duration 0
    bad period 999us 61s
    bad ranks 0,x 65536
    bad pattern often
    bad pattern:jittered:jitter 0 101
    bad pattern:bursts:group 1 1001
    bad pattern:bursts:spacing 0
    bad pattern:replay:scale-period 0
    bad pattern:replay:scale-burst -2
    bad kind:sum:array-bytes 7
    bad duty-cap 0
    refused "'--levle': unknown option" --levle 3
    refused "'--jitter': no option by itself; use --pattern ...:jitter=PERCENT" --level 1 --duration 1s \
        --pattern jittered --jitter 5
    refused "'--du': several options begin like this" --du 3
    refused "--json: takes no value" --json=yes
    refused "--pattern: loop: '1' is not no or yes" --pattern replay:loop=1
    refused "'again': unexpected argument" --level 1 --duration 1s again
    refused "--level is missing" --duration 1s
    refused "--duration is missing" --level 1
    refused "--duration: 5 ms is shorter than one period (10 ms)" --level 1 --duration 5ms
    refused "--duration: 500 ms is shorter than one period (1 s)" --level 1 --duration 500ms --kind procfs
    refused "--phase: not shorter than one period" --level 1 --duration 1s --phase 10ms
    refused "--phase: staggered needs to know which node this is: --phase staggered:node=0/4" --level 1 \
        --duration 1s --phase staggered
    refused "--level: 5 % is above the duty cap of 2 %" --level 5 --duty-cap 2 --duration 1s
    refused "--rate: not together with --level" --level 5 --rate 3 --kind syscall --duration 1s
    refused "--rate: the kind spin has no unit but CPU time (use --level)" --rate 3 --duration 1s
    for words in spin:array-bytes=1MB seed:array-bytes=1MB net:folder=.; do
        key=${words#*:}
        refused "--kind: ${key%%=*} does not apply to the kind ${words%%:*}" --level 1 --duration 5s \
            --kind "$words"
    done
    refused "--kind: folder is missing: disk needs to know where to write" --level 1 --duration 5s --kind disk
    for words in periodic:jitter=5 poisson:group=5 jittered:spacing=5ms periodic:loop=yes; do
        key=${words#*:}
        refused "--pattern: ${key%%=*} does not apply to the pattern ${words%%:*}" --level 1 --duration 1s \
            --pattern "$words"
    done
    refused "--pattern: spacing: bursts of 2 ms every 1 ms would be one long burst" --level 20 --duration 1s \
        --pattern bursts
    refused "--pattern: spacing: 5 bursts every 20 ms do not fit into 50 ms (group x --period)" --level 1 \
        --duration 1s --pattern bursts:spacing=20ms
    refused "--pattern: not for the kind seed, which has one of its own" --level 1 --duration 5s --kind seed \
        --pattern poisson
    refused "--kind: several kinds at once only under a detector" --level 1 --duration 1s --kind spin,sum
    refused "--pattern: several patterns at once only under a detector" --level 1 --duration 1s \
        --pattern periodic,poisson
}

@test "what only the detector, or only a generator alone, can be told is refused to the other" {
    for words in 'level 3' 'rate 3' 'on cpu:0' 'period 5ms' 'phase aligned'; do
        refused "--${words% *}: not together with --control-fd" --control-fd 5 "--${words% *}" "${words#* }"
    done
    for key in loop=yes scale-burst=2; do
        refused "--pattern: ${key%=*}: not together with --control-fd" --control-fd 5 --pattern "replay:$key"
    done
    trace '0 1000 - spin'
    refused "--replay: 'trace' names kinds, but under a detector the kind is a factor of its own" \
        --control-fd 99 --replay trace
    # of a preset the detector takes what it does not decide itself
    refused "--control-fd: 99 is not a control page" --control-fd 99 --preset slurm-accounting
    refused "--kind: 'seed' cannot be switched by a detector" --control-fd 99 --preset seed-1
    refused "--json: not together with --control-fd" --control-fd 5 --json
    refused "--replay is missing: the pattern replay needs a trace" --control-fd 5 --pattern periodic,replay
    refused "--kind: 'seed' cannot be switched by a detector" --control-fd 5 --kind spin,seed
    head -c 100000 /dev/zero >zeros
    refused "--control-fd: 7 is not a control page" --control-fd 7 7<>zeros
}

@test "a trace that is none is refused with file and line, before anything is loaded" {
    # what else is wrong with a line, or with a file: tests/unit/common/trace, tests/cli/traces.bats
    trace '# x' '5 10' '7 1'
    refused "--replay: trace:3: overlaps the burst before it" --replay trace
    trace '5 1000 0 disk'
    refused "--kind: folder is missing" --replay trace
    refused "--replay: cannot read 'nothing': No such file or directory" --replay nothing
    mkfifo pipe
    for file in /dev/zero . pipe; do refused "--replay: '$file' is not a regular file" --replay "$file"; done
    refused "--kind: disk on CPU $first_cpu: --kind: folder: 'nothing' does not exist" \
        --kind disk:folder=nothing --level 1 --duration 5s
    trace '0 1000 - disk' '1000000 1000 - spin'
    refused "--kind: disk on CPU $first_cpu: --kind: folder: 'nothing' does not exist" --replay trace \
        --kind spin:folder=nothing
}

@test "a trace says itself how much and when, and is refused where that cannot be" {
    trace '0 1000000' '10000000 1000000'
    refused "--level: a trace says itself how much load it is (see scale-burst)" --replay trace --level 5
    refused "--rate: a trace says itself how much load it is" --replay trace --rate 5 --kind syscall
    refused "--period: a trace says itself when its bursts come (see scale-period)" --replay trace \
        --period 5ms
    refused "--replay does not apply to the pattern periodic" --replay trace --pattern periodic
    refused "--duration is missing" --replay trace --pattern replay:loop=yes
    refused "the trace loads CPU $first_cpu with 150 %, which is above the duty cap of 100 % (see \
scale-burst, scale-period)" \
        --replay trace --pattern replay:scale-burst=15
    refused "the trace loads CPU $first_cpu with 20 %, which is above the duty cap of 15 %" --replay trace \
        --pattern replay:scale-period=0.5 --duty-cap 15
    trace '0 1000000'
    refused "--pattern: loop: 'trace' holds one burst, so how long one round is must be said in it ('# \
span_ns: N')" --replay trace --pattern replay:loop=yes --duration 1s
    trace "0 1000 $first_cpu" '5 1000 4095'
    refused "--on: CPU 4095 of the trace is not among the allowed CPUs ($allowed): say where with --on" \
        --replay trace
    refused "--on: 1 CPU, but the trace has bursts for 2" --replay trace --on "cpu:$first_cpu"
}

@test "places are words, whose meaning --dry-run prints, and none of them leaves the allowed CPUs" {
    # what every word means: tests/unit/common/sys/test_place.c
    dry "would load CPU $first_cpu with" --level 1 --duration 1s --on rank:1 --ranks "$last_cpu,$first_cpu"
    dry "would load CPU $last_cpu with" --level 1 --duration 1s --on "cpu:$last_cpu,last,cpu:$last_cpu" \
        --ranks "$first_cpu,$last_cpu"
    [ "${#lines[@]}" -eq 1 ]
    dry "would load CPU $last_cpu with" --level 1 --duration 1s --on all
    [ "${#lines[@]}" -eq "${#cpus[@]}" ]
    refused "--on: 'first' is not a place (cpu:N, rank:N, last, spare, all, sibling:..., same-l3:... \
(comma-separated))" --level 1 --duration 1s --on first
    refused "--on: 'rank:0': there are no ranks here; say where they run (--ranks 0,1)" --level 1 \
        --duration 1s --on rank:0
    refused "--on: CPU 4095 is not among the allowed CPUs ($allowed)" --level 1 --duration 1s \
        --on "all,cpu:4095"
}

@test "a binding by taskset is respected" {
    needs_cpus 2
    noiselab-gen() { taskset -c "$last_cpu" "$(type -P noiselab-gen)" "$@"; }
    dry "would load CPU $last_cpu with 1 % for 1 s: spin, 100 bursts of 100 us, one every 10 ms" --level 1 \
        --duration 1s
    # a rank may run where the generator may not
    dry "would load CPU $last_cpu with " --level 1 --duration 1s --on spare --ranks "$first_cpu"
    for place in "cpu:$first_cpu" "all,cpu:$first_cpu"; do
        refused "--on: CPU $first_cpu is not among the allowed CPUs ($last_cpu)" --level 1 --duration 1s \
            --on "$place"
    done
    trace "0 1000 $first_cpu"
    refused "CPU $first_cpu of the trace is not among the allowed CPUs ($last_cpu): say where with --on" \
        --replay trace
    dry "would load CPU $last_cpu with " --replay trace --on last --ranks "$last_cpu"
}

@test "--dry-run says what every pattern and kind would do, and loads nothing" {
    dry "would load CPU $first_cpu with 5 % for 1 s: spin, 100 bursts of 500 us, one every 10 ms" --level 5 \
        --duration 1s
    dry "sum, 100 bursts of 500 us, one every 10 ms on average (jittered)" --level 5 --duration 1s \
        --pattern jittered --kind sum
    dry "spin, 50 bursts of 1 ms, one every 20 ms on average (poisson)" --level 5 --duration 1s \
        --period 20ms --pattern poisson
    dry "spin, 100 bursts of 500 us, one every 10 ms on average (bursts)" --level 5 --duration 1s \
        --pattern bursts:group=10
    dry "with 100 calls per second for 2 s: syscall, 200 bursts of 1 calls, one every 10 ms" --kind syscall \
        --rate 100 --duration 2s
    dry "with 0.5 sweeps per second for 4 s: procfs, 4 bursts of 0.5 sweeps, one every 1 s" --kind procfs \
        --rate 0.5 --duration 4s
    dry "with 1e+08 bytes per second" --kind membw --rate 100MB --duration 2s
    trace '0 1000000' '10000000 1000000'
    dry "would load CPU $first_cpu with 10 % for 20 ms: spin, replay of 2 bursts" --replay trace
    dry "with 10 % for 5 s: spin, replay of 2 bursts, again and again" --replay trace \
        --pattern replay:loop=yes --duration 5s
    dry "with 2 % for 200 ms: spin, replay of 2 bursts" --replay trace \
        --pattern replay:scale-period=10,scale-burst=2
    trace "# span_ns: 100000000" "0 1000000 $first_cpu" "5 3000000 $last_cpu"
    if [ "$first_cpu" != "$last_cpu" ]; then
        dry "would load CPU $first_cpu with 1 % for 100 ms: spin, replay of 1 burst; 10 bursts per second, \
longest 1 ms
would load CPU $last_cpu with 3 % for 100 ms: spin, replay of 1 burst; 10 bursts per second, longest 3 ms" \
    --replay trace
    fi
}

@test "--help lists every option, kind and pattern, and the lists say what each does and needs" {
    help=$(noiselab-gen --help)
    run --separate-stderr noiselab-gen --list kinds
    [[ "$output" == *"spin     arithmetic in registers: CPU time only (dose: CPU time)"*"net "*"(dose: CPU \
time or messages)"* ]]
    [[ "$output" == *"disk "*"(dose: CPU time or writes; period 1 s; needs a folder (folder=DIR))"* ]]
    for kind in $(awk '/^[a-z]/ { print $1 }' <<<"$output"); do [[ "$help" == *"  $kind "* ]]; done
    run --separate-stderr noiselab-gen --list patterns
    for pattern in $(awk '{ print $1 }' <<<"$output"); do [[ "$help" == *"  $pattern "* ]]; done
    [ "$(taskset -c "$last_cpu" noiselab-gen --list cpus)" = "$(uname -n) 1 $last_cpu" ]
    [[ "$(noiselab-gen --list cpus)" =~ ^[^\ ]+\ [1-9][0-9]*\ [0-9,-]+$ ]]
    [[ "$(noiselab-gen --version)" == "noiselab-gen "[0-9]* ]]
    NOISELAB_PRESETS=/nonexistent refused "--list presets: cannot read '/nonexistent'" --list presets
    run --separate-stderr noiselab-gen --list presets
    for name in seed-0.01 seed-1 node_exporter collectd sadc slurm-accounting; do
        [[ "$output" == *"$name "* ]]
    done
    for name in $(awk '{ print $1 }' <<<"$output"); do
        dry "would load CPU" --preset "$name" --duration 60s
    done
}

@test "presets of one's own are read, and the user comes first" {
    export NOISELAB_PRESETS=$PWD/mine
    mkdir mine
    printf '# my agent\nkind = sum\nlevel = 2%%\nperiod = 20ms\non = cpu:%s\nduration = 1s\n' \
        "$last_cpu" >mine/agent.preset
    run noiselab-gen --list presets
    [ "$output" = "agent            my agent" ]
    dry "would load CPU $last_cpu with 2 % for 1 s: sum, 50 bursts of 400 us, one every 20 ms" --preset agent
    dry "would load CPU $first_cpu with 5 % for 2 s: spin, 100 bursts of 1 ms, one every 20 ms" \
        --preset agent --level 5 --kind spin --duration 2s --on "cpu:$first_cpu"
    dry "with 100 bytes per second" --preset agent --rate 100
    printf '0\t1000000\n10000000\t1000000\n' >mine/agent.trace
    printf '# recorded\nreplay = agent.trace\nloop = yes\n' >mine/recorded.preset
    dry "with 10 % for 3 s: spin, replay of 2 bursts, again and again" --preset recorded --duration 3s
    dry "with 20 % for 3 s: cache, replay of 2 bursts" --preset recorded --duration 3s --kind cache \
        --pattern replay:scale-burst=2
    certified --preset recorded --duration 100ms --tolerance 100 --kind syscall
    says '.preset == "recorded" and .kind == "syscall" and .trace.file == "'"$PWD"'/mine/agent.trace"'
    # texts of a preset are still there when the load runs
    printf 'kind = disk\nfolder = %s\nlevel = 1\nperiod = 100ms\nduration = 200ms\non = last\nranks = %s\n' \
        "$PWD" "$last_cpu" >mine/disk.preset
    certified --preset disk --tolerance 10000
    [ "$(value cpu)" = "$last_cpu" ]
}

@test "broken presets are refused with file and line" {
    export NOISELAB_PRESETS=$PWD
    printf '# x\nlevel = 12x\n' >a.preset
    refused "--preset: $PWD/a.preset:2: '12x' is not a percentage (try 0.1, 0.3%, 5)" --preset a --duration 1s
    printf 'lvl = 1\n' >a.preset
    refused "--preset: $PWD/a.preset:1: 'lvl' is not an option that a preset can have" --preset a \
        --duration 1s
    for option in json preset; do
        echo "$option = a" >a.preset
        refused "'$option' is not an option that a preset can have" --preset a --duration 1s
    done
    printf 'replay = nothing.trace\n' >a.preset
    refused "--replay: cannot read '$PWD/nothing.trace': No such file or directory" --preset a
    refused "--preset: there is no preset 'b' in '$PWD' (see --list presets)" --preset b --duration 1s
}


@test "every kind runs and says so in one line" {
    mkdir folder
    with_folder=" $(noiselab-gen --list kinds | awk '/needs a folder/ { print $1 }' | paste -sd ' ' -) "
    [ "$with_folder" != "  " ]
    for kind in $(noiselab-gen --list kinds | awk '/^[a-z]/ { print $1 }'); do
        if [ "$kind" = ipi ] && [ "${#cpus[@]}" -eq 1 ]; then continue; fi
        options=
        if [[ "$with_folder" == *" $kind "* ]]; then options=:folder=folder; fi
        run --separate-stderr noiselab-gen --level 2 --period 20ms --duration 60ms --kind "$kind$options" \
            --tolerance 100000
        if [ "$status" -eq 2 ] && [[ "$stderr" == *"'$kind' is not available here"* ||
            "$kind" = cache ]]; then
            continue
        fi
        [ "$status" -eq 0 ]
        [ "${#lines[@]}" -eq 1 ]
        [[ "$output" == "$kind on CPU $first_cpu, "*"3 planned"* ]]
    done
    [ -z "$(ls -A folder)" ]
}

@test "a dose in units is delivered and certified in them" {
    for row in "syscall 1000 calls" "net 500 messages" "pagefault 2000 faults" "wakeup 100 wake-ups" \
        "fork 20 children" "membw 20MB bytes"; do
        read -r kind rate unit <<<"$row"
        certified --kind "$kind" --rate "$rate" --period 50ms --duration 200ms --tolerance 50
        says ".dose.unit == \"$unit\" and .threads[0].kinds[0].unit == \"$unit\""
        says '(.dose.delivered / .dose.requested - 1 | fabs) < 0.5 and .level_requested_percent == null
            and .requested_ns == null and .ended == "complete"'
    done
}

# bats test_tags=mpi
@test "--on all runs one thread on every allowed CPU, and the certificate tells of each" {
    in_background --level 5 --duration 700ms --tolerance 100
    sleep 0.1
    for task in /proc/"$started"/task/*; do
        awk '/^Cpus_allowed_list:/ { print $2 }' "$task/status"
    done | sort -n >bindings
    its_end
    [ "$(tr '\n' ' ' <bindings)" = "${cpus[*]} " ]
    [ "$(value 'threads | map(.cpu | tostring) | join(" ")')" = "${cpus[*]}" ]
    says '[.threads[] | .cpus_seen == [.cpu] and .ratio > 0.5 and .ratio < 2 and .requested_ns == 35000000
        and .bursts_planned == 70] | all'
    says '.delivered_ns == ([.threads[].delivered_ns] | add) and .migrations == 0 and (.lateness_ns
        | keys) == ["max", "p50", "p99"]'
    says '.ended == "complete" and .level_delivered_percent > 2.5 and .level_delivered_percent < 10'
}

@test "a trace is replayed with its kinds, as long as it lasts" {
    trace '# span_ns: 150000000' '1000000 1000000 - spin' '50000000 2000000 - syscall' \
        '100000000 1000000 - spin'
    certified --replay trace --tolerance 100
    says '.pattern == "replay" and .trace.file == "trace" and .trace.bursts == 3
        and .trace.span_ns == 150000000'
    says '.bursts_planned == 3 and .requested_ns == 4000000 and .elapsed_ns >= 150000000
        and .elapsed_ns < 2000000000'
    [ "$(value 'threads[0].kinds | map(.kind, .requested_ns | tostring) | join(" ")')" = \
        "spin 2000000 syscall 2000000" ]
    # scaled: twice as fast, half as long; and again and again
    certified --replay trace --pattern replay:scale-period=0.5,scale-burst=0.5,loop=yes --tolerance 100 \
        --duration 225ms --kind sum
    says '.bursts_planned == 9 and .requested_ns == 6000000 and .trace.loop and .trace.scale_period == 0.5
        and .trace.scale_burst == 0.5'
    certified --replay trace --tolerance 100 --duration 200ms
    [ "$(value bursts_planned)" = 3 ]
}

@test "a trace with a column for the CPU is replayed on these CPUs, or on as many others" {
    needs_cpus 2
    trace "0 1000000 $first_cpu" "0 2000000 $last_cpu" "20000000 1000000 $first_cpu" \
        "20000000 2000000 $last_cpu" "40000000 1000000 $first_cpu"
    certified --replay trace --tolerance 100
    [ "$(value 'threads | map(.cpu, .requested_ns | tostring) | join(" ")')" = \
        "$first_cpu 3000000 $last_cpu 4000000" ]
    local others=(--tolerance 100 --on "cpu:$last_cpu,cpu:$first_cpu")
    certified --replay trace "${others[@]}"
    [ "$(value 'threads | map(.cpu, .requested_ns | tostring) | join(" ")')" = \
        "$last_cpu 3000000 $first_cpu 4000000" ]
    trace '# span_ns: 200000000' '10000000 1000000' '60000000 1000000'
    run --separate-stderr noiselab-gen --replay trace "${others[@]}" --pattern replay:scale-burst=2,loop=yes \
        --duration 400ms
    [[ "$output" == *"replay of 'trace', bursts x 2, times between them x 1: 4 % of one CPU summed over \
CPUs, 4.00 times the recording's 1 % (2 bursts in 200 ms: busy for 1 % of a CPU, 10 bursts per second, \
longest 1 ms); 16 ms requested"* ]]
    # the numbers of bursts would otherwise be equal
    certified --level 1 --duration 400ms "${others[@]}" --pattern poisson --seed 3
    [ "$(value 'threads[0].bursts_planned')" != "$(value 'threads[1].bursts_planned')" ]
}

@test "the memory for a trace does not grow with its length" {
    # a million bursts: their numbers would take 16 MB
    awk 'BEGIN { for (i = 0; i < 1000000; i++) printf "%d000000\t%d\n", i, 1000 + i % 1000 }' >trace
    (ulimit -d 12000 && dry 'replay of 1000000 bursts' --replay trace)
}

@test "the phase and the node are certified, and Slurm may say which node it is" {
    # phased WORD WANTED OPTION...: what the certificate says of a load in that phase
    phased() {
        certified --level 1 --duration 100ms --tolerance 1000 --phase "$1" "${@:3}"
        [ "$(value 'phase | map(tostring) | join(" ")')" = "$2" ]
    }
    phased aligned 'aligned null null null'
    phased staggered:node=1/4 'staggered null 1 4'
    phased 3ms 'offset 3000000 null null'
    SLURM_NODEID=2 SLURM_STEP_NUM_NODES=3 SLURM_JOB_NUM_NODES=9 phased random 'random null 2 3' --seed 5
    [ "$(value random_seed)" = 5 ]
    SLURM_NODEID=2 SLURM_STEP_NUM_NODES=3 dry "would load" --level 1 --duration 100ms --phase staggered
    # nonsense in the environment is none of the user's doing
    SLURM_NODEID=7 SLURM_STEP_NUM_NODES=3 refused "--phase: staggered needs to know" --level 1 \
        --duration 100ms --phase staggered
}

@test "a load outside of its tolerance ends with status 1 and says so" {
    # ten bursts of 1 us by whole passes of 250,000 numbers each
    run -1 --separate-stderr noiselab-gen --kind seed --level 0.001 --period 50ms --duration 500ms
    [[ "$output" == "seed on CPU"* ]]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ "$stderr" == *"outside the tolerance of 5 %" ]]
}

@test "at level 0 it sleeps without waking on any CPU and reports what it used" {
    in_background --level 0 --duration 60s
    # once all have gone to sleep
    switches() {
        cat /proc/"$started"/task/*/status | awk '/^voluntary_ctxt_switches:/ { n += $2 } END { print n }'
    }
    sleeps_on() {
        local before
        before=$(switches)
        sleep 0.5
        [ "$(switches)" = "$before" ]
    }
    wait_until 30 sleeps_on
    [ "$(n_threads "$started")" = "${#cpus[@]}" ]
    its_end TERM
    says '.ok == null and .ratio == null and .bursts_run == 0 and .delivered_ns > 0
        and .ended == "interrupted"'
}

@test "SIGTERM and SIGINT end the load on all CPUs with its certificate" {
    for signal in TERM INT; do
        # a shell starts background jobs with SIGINT ignored; the generator takes it back
        in_background --level 5 --duration 60s --tolerance 50
        sleep 0.1
        its_end "$signal"
        says '.ended == "interrupted" and .ok and .elapsed_ns < 1e10 and (.threads | length) == '"${#cpus[@]}"
    done
}

@test "what is gone or changed while it is used ends the load at once" {
    mkdir folder
    (sleep 0.3 && rmdir folder) 3>&- &
    run --separate-stderr noiselab-gen --kind disk:folder=folder --rate 50 --period 20ms --duration 20s --json
    failed "the folder 'folder' is gone"
    awk 'BEGIN { for (i = 0; i < 100; i++) printf "%d\t100000\n", i * 5000000 }' >trace
    (sleep 0.3 && echo '# more' >>trace) 3>&- &
    run --separate-stderr noiselab-gen --replay trace --pattern replay:loop=yes --duration 20s --json
    failed "--replay: 'trace' changed or cannot be read any more"
}

@test "a disk that is full ends the load at once" {
    [ "$(id -u)" -eq 0 ] || skip "needs root to mount a small disk"
    mkdir disk
    unshare -m true 2>/dev/null || skip "no mount namespaces here"
    # the mount is seen by these processes only, and is gone with them
    run --separate-stderr unshare -m sh -c '
        mount -t tmpfs -o size=256k none disk || exit 99
        noiselab-gen --kind disk:folder=disk --rate 200 --period 10ms --duration 20s --json
        status=$?
        [ -z "$(ls -A disk)" ] || exit 98
        exit $status'
    [ "$status" -ne 99 ] || skip "mounting is not permitted here"
    failed "cannot write in 'disk': No space left on device"
}

@test "no load outlives its parent, on no CPU and in no child, unless it is told to" {
    mkdir folder
    trace '0 200000 - fork' '10000000 200000 - disk' '20000000 200000 - spin'
    : >marker
    for flag in "" --outlive-parent; do
        # a session of their own, so that every process of theirs can be found
        setsid bash -c "noiselab-gen --replay trace --pattern replay:loop=yes --duration 30s --kind \
spin:folder=folder --on all $flag >/dev/null 2>&1 & echo \$! >pid; wait" 3>&- &
        parent=$!
        wait_until 30 test -s pid
        started=$(cat pid)
        rm pid
        wait_until 30 has_threads "$started" "${#cpus[@]}"
        sleep 0.3
        session=$(ps -o sid= -p "$started" | tr -d ' ')
        kill -9 "$(ps -o ppid= -p "$started" | tr -d ' ')"
        if [ -z "$flag" ]; then
            wait_until 10 has_ended "$started"
            none_left() { ! pgrep -s "$session" >/dev/null; }
            wait_until 30 none_left
        else
            sleep 0.5
            [ -d "/proc/$started" ]
            kill -9 "$started"
        fi
        wait "$parent" || true
        started=
    done
    [ -z "$(ls -A folder)" ]
    [ -z "$(find /tmp /dev/shm -maxdepth 1 -newer marker -name '*noiselab-gen*' 2>/dev/null)" ]
}

@test "a certificate is JSON also of a file name of any bytes, and one that cannot be written is an error" {
    [ -w /dev/full ] || skip "no /dev/full here"
    run -2 --separate-stderr bash -c 'noiselab-gen --level 0 --duration 100ms >/dev/full'
    [[ "$stderr" == *"cannot write the certificate"* ]]
    trace '0 1000000' '10000000 1000000'
    name=$(printf 'tr\377ce')
    mv trace "$name"
    certified --replay "$name" --tolerance 100
    [ "$(value trace.file)" = "(not UTF-8)" ]
}

@test "millions of bursts that are due at once do not keep it from ending" {
    # three million in 3 ms, and then one in a day: the average is harmless
    awk 'BEGIN { print "# span_ns: 86400000000000"; for (i = 0; i < 3000000; i++) print i "\t" 1;
        print "80000000000000\t1000" }' >dense
    noiselab-gen --replay dense --duration 1s >/dev/null 2>&1 3>&- &
    started=$!
    sleep 0.5
    kill -TERM $started
    wait_until 10 eval "! kill -0 $started 2>/dev/null"
}
