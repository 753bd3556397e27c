#!/usr/bin/env bats
# The ReFrame checks of experiments/reframe with the real reframe, through Slurm on the test cluster and on
# this machine: they pass with references that anything meets, and fail with ones that nothing can meet.

load cluster
load ../mpirun

setup_file() {
    export ROOT="$BATS_TEST_DIRNAME/../.."
    cluster_up 2
    find_reframe
}

# find_reframe: sets REFRAME, the program, in an environment of its own that the next run finds; or
# NO_REFRAME, why there is none
find_reframe() {
    local environment="$ROOT/${NOISELAB_BUILD:-build}/reframe" said
    export REFRAME="$environment/bin/reframe" NO_REFRAME=''
    "$REFRAME" --version >/dev/null 2>&1 && return
    rm -rf "$environment"
    said=$({ python3 -m venv "$environment" && "$environment/bin/python" -m pip install --quiet \
        --disable-pip-version-check --retries 1 --timeout 15 \
        --only-binary :all: 'reframe-hpc==4.*'; } 2>&1) ||
        NO_REFRAME="reframe cannot be installed: $(tail -n 1 <<<"$said")"
}

setup() {
    [ -z "$NO_REFRAME" ] || skip "$NO_REFRAME"
    # figures do not matter here, and other tests may want the CPUs
    take_turns
    cd "$BATS_TEST_TMPDIR" || return
}

# references FILE SLOWDOWN_UPPER LIMIT TIME: figures above which the checks fail
references() {
    jq -n --argjson slowdown "$2" --argjson limit "$3" --argjson time "$4" '{"*": {
        sensitivity: {slowdown: [$slowdown, null, 0, "%"], detection_limit: [$limit, null, 0, "%"],
            delivered: [100, -1, null, "%"]},
        reproducibility: {time: [$time, null, 0, "us"], scatter: [1000, null, 0, "%"]},
        acceptance: {"detour.alone.lost": [$slowdown, null, 0, "percent"]}}}' >"$1"
}

# check WANTED SYSTEM NAME REFERENCES [OPTION]...: one check passes or fails, as wanted; what reframe said is
# in the file said
check() {
    local wanted=$1 system=$2 name=$3 references=$4
    shift 4
    status=passes
    set -- "$REFRAME" --config-file "$ROOT/experiments/reframe/settings.py" \
        --checkpath "$ROOT/experiments/reframe/noiselab_checks.py" \
        --prefix "$PWD/reframe" --system "$system" --name "$name" --setvar "programs=$(cd "$BIN" && pwd)" \
        --setvar "reference_file=$references" --setvar seconds=1 \
        --nocolor --run "$@"
    if [ "$system" = here ]; then
        "$@" >said 2>&1 3>&- || status=fails; else on_login "$@" >said 2>&1 || status=fails
    fi
    # its log, which it leaves in /tmp
    rm -f "$(sed -n "s/.*log files: *'\(.*\)'/\1/p" said)"
    [ "$status" = "$wanted" ]
}

@test "through Slurm, a sensitivity check on two nodes passes with a generous reference" {
    left_out_or_go
    references generous 1e6 1e6 1e9
    check passes cluster 'noiselab_sensitivity.*barrier' "$PWD/generous" --performance-report
    grep -q '\[  PASSED  \] Ran 1/1 test case' said
    grep -q 'slowdown' said
    [ "$(jq -r '[.ranks, (.hosts | length)] | @csv' reframe/output/*/*/*/*/campaign/*/launch.json)" = 2,2 ]
}

@test "on this machine, a sensitivity check fails with an impossible reference, and for that alone" {
    references impossible 1e6 -1e6 1e9
    check fails here 'noiselab_sensitivity.*barrier' "$PWD/impossible"
    [ "$(grep -cE 'failed to meet reference' said)" -ge 1 ]
    ! grep -E 'failed to meet reference' said | grep -qvE 'reference\(s\): detection_limit' || false
}

@test "on this machine an acceptance check passes with its figures, and fails for wrong data by name" {
    long_only
    references generous 1e6 1e6 1e9
    check passes here noiselab_acceptance "$PWD/generous" --setvar checks=integrity,detour \
        --performance-report
    lost=$("$BIN/noiselab" run acceptance --finish reframe/output/*/*/*/*/campaign --no-report --lines |
        sed -n 's/^detour\.alone\.lost\..*: \(.*\) percent$/\1/p')
    grep 'detour.alone.lost' said | grep -qF " ${lost:0:5}"
    jq '."*".acceptance."latency.between.half_round_trip.0" = [1, null, null, "ns"]' generous >lacking
    check fails here noiselab_acceptance "$PWD/lacking" --setvar checks=integrity,detour
    grep -qF "figures that have references were not measured: ['latency.between.half_round_trip.0']" said
    check fails here noiselab_acceptance "$PWD/generous" --setvar checks=integrity,detour:inject-fault=0:1:100
    grep -q "the verdict is fail: .*integrity" said
}

@test "a launch that cannot run fails the check with its own reason; what stands in an option is a word" {
    references generous 1e6 1e6 1e9
    check fails here 'noiselab_sensitivity.*barrier' "$PWD/generous" \
        --setvar "options=--foo \$(touch $PWD/hit) it's; touch $PWD/hit #"
    grep -q "launches ended \[\], expected \['complete'\]" said
    grep -rqF "'--foo \$(touch $PWD/hit) it's; touch $PWD/hit #': unknown option" reframe/stage
    [ ! -e hit ]
}

@test "a figure that is no number is an error of one line, whatever references say" {
    cd "$ROOT/experiments/reframe"
    PYTHONDONTWRITEBYTECODE=1 "$(dirname "$REFRAME")/python" -c '
import noiselab_checks as c
for text in ("1.5", "nan", "inf", "1e999", "abc", ""):
    try:
        print(c.figure(text))
    except c.SanityError as e:
        print("error: %s" % e)
' >"$BATS_TEST_TMPDIR/figures"
    [ "$(sed 's/: .*//' "$BATS_TEST_TMPDIR/figures" | xargs)" = '1.5 error error error error error' ]
}
