#!/usr/bin/env bats
# How noiselab run itself ends, interrupted or killed: what it has started ends with it, and nothing stays
# that the next start would measure beside.

load run

setup() {
    unset OMPI_MCA_btl_vader_backing_directory OMPI_MCA_btl_sm_backing_directory
    BIN="$BATS_TEST_DIRNAME/../../${NOISELAB_BUILD:-build}/bin" OUT="$BATS_TEST_TMPDIR/campaign" \
        ERR="$BATS_TEST_TMPDIR/stderr"
    mkdir "$BATS_TEST_TMPDIR/tmp"
    export TMPDIR="$BATS_TEST_TMPDIR/tmp"
}

teardown() {
    tell
    [ -z "${RUN-}" ] || kill -9 "$RUN" 2>/dev/null || true
    "${BIN%/bin}/libexec/noiselab/noiselab-sh" end "$OUT/$(planned)" 2>/dev/null || true
}

# run_here EXPERIMENT ARGUMENTS: in the background, in a process group of its own, as a shell starts a
# command; sets RUN. 3>&-: bats waits for whoever holds its output.
run_here() {
    set -m
    # a runner in the background of a script ignores SIGINT, and so would all that it starts
    env --default-signal=INT "$BIN/noiselab" run "$@" --out "$OUT" --no-report >"$BATS_TEST_TMPDIR/stdout" \
        2>"$ERR" 3>&- &
    RUN=$!
    set +m
}

# nothing_left: of the launch, now: no process, no shared memory, no folder of Open MPI
nothing_left() {
    none_of_campaign
    [ -z "$(find /dev/shm -maxdepth 1 -name "noiselab.*.$RUN.*")" ]
    [ -z "$(find "$TMPDIR" -maxdepth 1 \( -name 'ompi.*' -o -name 'prte.*' \))" ]
}

@test "a Ctrl-C ends the launch, and when noiselab run returns nothing of it runs or stays" {
    needs_cpus 2
    run_here sensitivity --op barrier --levels 50 --warmup 0s --seconds 60
    wait_for has_rows
    [ -n "$(of_campaign)" ]
    kill -INT -- "-$RUN"
    ends 2 wait "$RUN"
    nothing_left
    grep -q 'noiselab-run: interrupted; rows' "$ERR"
    [ "$(jq -r .ended "$OUT"/*/launch.json)" = interrupted ]
}

@test "a rank that does not end is told again, and killed, and the campaign goes on beside nothing" {
    needs_cpus 2
    run_here sensitivity --op barrier --levels 1 --warmup 0s --seconds 60
    wait_for has_rows
    # nobody can end them by a TERM
    kill -STOP $(ranks_of "$(pgrep -d , -P "$RUN")")
    kill -TERM "$RUN"
    ends 2 wait "$RUN"
    nothing_left
}

@test "kill -9 of noiselab run ends what it has started, and what stays in memory goes with the next start" {
    needs_cpus 2
    run_here sensitivity --op barrier --levels 50 --warmup 0s --seconds 60
    wait_for has_rows
    kill -9 "$RUN"
    wait "$RUN" || true
    wait_until 60 none_of_campaign
    sed -i 's/\t--seconds\t60s*/\t--seconds\t0.2/' "$OUT/schedule.tsv"
    "$BIN/noiselab" run sensitivity --resume "$OUT" --no-report >/dev/null 2>"$ERR" 3>&-
    nothing_left
}

@test "where a launcher lets its ranks go on, those on this host are told by us when noiselab run dies" {
    sh="${BIN%/bin}/libexec/noiselab/noiselab-sh"
    export BIN OUT BATS_TEST_TMPDIR
    bash -c '"$1" owned $$ "$OUT/one" bash -c "$2" & echo $! >"$BATS_TEST_TMPDIR/launcher"; wait' - "$sh" \
        'trap : TERM
        "$BIN/noiselab-detect" --op empty --levels 50 --warmup 0s --seconds 600 \
            --out "$OUT" --launch-id one &
        echo $! >"$BATS_TEST_TMPDIR/rank"
        while :; do sleep 0.1; done' >/dev/null 2>&1 3>&- &
    RUN=$!
    wait_for has_rows
    kill -9 "$RUN"
    wait "$RUN" || true
    wait_until 30 is_gone "$(cat "$BATS_TEST_TMPDIR/rank")"
    kill -9 "$(cat "$BATS_TEST_TMPDIR/launcher")"
    [ "$(jq -r .ended "$OUT"/*/launch.json)" = interrupted ]
}

@test "the scraper of a recording, and the recorder, end with noiselab run, however that ends" {
    sleep 60 3>&- &
    agent=$!
    mark=$BATS_TEST_TMPDIR/scraped
    "$BIN/noiselab" run agent --ranks 1 --op empty --agent-pid "$agent" --compare-replay=60s \
        --agent-period 50ms --scrape "touch $mark" \
        --scrape-period 50ms --out "$OUT" --no-report >/dev/null 2>"$ERR" 3>&- &
    RUN=$!
    wait_for test -e "$mark"
    recorder=$(pgrep -P "$RUN" -x noiselab-record)
    kill -9 "$RUN"
    wait "$RUN" || true
    wait_until 30 is_gone "$recorder"
    wait_until 30 stands_still "$mark"
    kill "$agent"
}

# stands_still FILE: nobody touches it for ten scrapes
stands_still() {
    local before
    before=$(stat -c %Y.%y "$1")
    sleep 0.5
    [ "$(stat -c %Y.%y "$1")" = "$before" ]
}
