#!/usr/bin/env bats
# What noiselab top shows of loads that are known: the generator's, at nine doses and rhythms at once, and one
# task among eleven others.

load ../helpers

setup_file() {
    export BUILD="$BATS_TEST_DIRNAME/../../${NOISELAB_BUILD:-build}" WORK="$BATS_FILE_TMPDIR"
    export PATH="$BUILD/bin:$PATH"
    local level period i
    allowed_cpus
    cd "$WORK" || return
    noiselab-top --once --interval 100ms --source cpu >/dev/null 2>why ||
        { leave_out "cannot record context switches: $(cat why)" && return; }
    # each under a name of its own: other tests have generators, too
    for level in 0.1 1 5; do
        for period in 10ms 100ms 1s; do
            cp "$BUILD/bin/noiselab-gen" "ng$level-$period"
            "./ng$level-$period" --level "$level" --period "$period" --on "cpu:$last_cpu" --duration 20s \
                --json >"gen$level-$period" 2>/dev/null 3>&- &
        done
    done
    for i in 1 2 3 4 5 6 7 8 9 10 11; do
        cp "$BUILD/bench/bench_busy" "other$i"
        "./other$i" 1ms "$((90 + 7 * i))ms" 3>&- &
        others="${others-} $!"
    done
    cp "$BUILD/bench/bench_busy" "bench-known"
    ./bench-known 40ms 1s 3>&- &
    echo $! >known
    others="$others $!"
    sleep 2.5
    noiselab-top --once --interval 10s --json --rows 250 >sample
    kill $others
    wait || true
    FILE_DISTURBANCE=$(disturbance)
    export FILE_DISTURBANCE
}

setup() {
    left_out_or_go
    cd "$WORK" || return
}

# of NAME EXPRESSION: of the row of that command
of() { jq -e --arg name "$1" ".tasks[] | select(.command == \$name) | $2" sample; }

# is_delivered LEVEL-PERIOD: where waking costs more than a burst, the generator runs several of them at once,
# and neither their number nor their period is what was asked for
is_delivered() { jq -e '.bursts_merged * 10 < .bursts_planned' "gen$1" >/dev/null; }

# shown_within NAME SHARE: the generator's load by the sample against its own certificate. The kernel charges
# a task with its switches, too, which lie outside of their records: some 30 us a burst on virtual machines
# whose timers trap.
shown_within() {
    local delivered switches
    delivered=$(jq -e .level_delivered_percent "gen${1#ng}")
    switches=$(jq -e '.bursts_run * 40e-6 / (.elapsed_ns / 1e9) * 100' "gen${1#ng}")
    of "$1" .share_percent | awk -v delivered="$delivered" -v share="$2" -v switches="$switches" '
        { print $1, delivered, switches;
            exit !($1 > delivered * (1 - share) - switches && $1 < delivered * (1 + share)) }'
}

@test "the generator's 0.1, 1 and 5 percent, at three periods, are shown within 5 percent after 10 s" {
    jq -e '.source == "cpu"' sample
    # some are lost where the twenty loads begin together; shares are held to 5 % below
    jq .lost_records sample
    judge jq -e '.lost_records < 100' sample
    for level in 0.1 1 5; do
        for period in 10ms 100ms 1s; do
            is_delivered "$level-$period" || { echo "# $level % each $period cannot be delivered here" >&3 &&
                continue; }
            judge shown_within "ng$level-$period" 0.05
        done
    done
}

@test "their periods, lengths and CPUs are those that were asked for" {
    allowed_cpus
    for level in 0.1 1 5; do
        ! is_delivered "$level-100ms" || judge of "ng$level-100ms" '(.period_ns - 1e8 | fabs) < 1e6'
        ! is_delivered "$level-1s" || judge of "ng$level-1s" '(.period_ns - 1e9 | fabs) < 1e7'
        [ "$(of "ng$level-100ms" .cpus)" = "\"$last_cpu\"" ]
    done
    ! is_delivered 5-100ms ||
        judge of ng5-100ms '(.length_ns - 5e6 | fabs) < 3e5 and (.bursts_per_second - 10 | fabs) < 0.3'
}

@test "a task of 40 ms each second is found among eleven others, by its process, in the first rows" {
    jq -e --argjson pid "$(cat known)" \
        '[.tasks[] | select(.command | test("^(other|bench-known)"))] | length == 12 and
        (.[:3] | any(.pid == $pid))' sample
    judge of bench-known '(.share_percent - 4 | fabs) < 0.3'
}
