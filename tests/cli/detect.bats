#!/usr/bin/env bats
# noiselab-detect on the command line: what it refuses, what it writes, how it ends.

setup() {
    BIN="$BATS_TEST_DIRNAME/../../${NOISELAB_BUILD:-build}/bin"
    DETECT="$BIN/noiselab-detect"
    OUT="$BATS_TEST_TMPDIR/campaign"
    ERR="$BATS_TEST_TMPDIR/stderr"
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
}

# launch RANKS ARGUMENTS: the detector on this machine
launch() {
    local ranks=$1
    shift
    mpirun --oversubscribe --bind-to core:overload-allowed -n "$ranks" "$DETECT" --out "$OUT" "$@" 2>"$ERR"
}

# refused WANTED ARGUMENTS: status 2, one line on stderr that holds WANTED, nothing on stdout, no campaign
refused() {
    local wanted=$1 status=0
    shift
    "$DETECT" --out "$OUT" "$@" >"$BATS_TEST_TMPDIR/stdout" 2>"$ERR" || status=$?
    cat "$ERR"
    [ "$status" -eq 2 ]
    [ "$(wc -l <"$ERR")" -eq 1 ]
    grep -qF -- "$wanted" "$ERR"
    [ ! -s "$BATS_TEST_TMPDIR/stdout" ]
    [ ! -e "$OUT" ]
}

# column NAME FILE: the values of a column
column() {
    awk -F , -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) k = i; next } { print $k }' "$2"
}

# CPU time of a process in ticks of 10 ms; 0 once it is gone
cpu_ticks() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '{ t = $12 + $13 } END { print t + 0 }'; }

is_gone() { [ ! -e "/proc/$1/stat" ] || grep -q ') Z' "/proc/$1/stat"; }

# no_load_of PID: one second from now it runs nothing more, and soon it is gone
no_load_of() {
    sleep 1
    local before
    before=$(cpu_ticks "$1")
    sleep 0.5
    [ "$(cpu_ticks "$1")" -le "$before" ]
    wait_for is_gone "$1"
}

# wait_for COMMAND...: until it succeeds, at most ten seconds
wait_for() {
    for _ in $(seq 100); do
        "$@" && return 0
        sleep 0.1
    done
    return 1
}

has_rows() { [ "$(cat "$OUT"/*/halves.csv 2>/dev/null | wc -l)" -gt 20 ]; }

# pids of the processes that mpirun $1 started, by name
ranks_of() { pgrep -P "$1" -x noiselab-detect; }
generator_of() {
    for rank in $(ranks_of "$1"); do pgrep -P "$rank" -x noiselab-gen || true; done
}

has_generator() { [ -n "$(generator_of "$1")" ]; }

# background ARGUMENTS: a long launch on two ranks; sets MPIRUN to the pid of its mpirun once rows come
background() {
    # 3>&-: bats waits for whoever holds its output
    mpirun --bind-to core -n 2 "$DETECT" --out "$OUT" --op barrier --seconds 60 --launch-id one "$@" >/dev/null 2>"$ERR" 3>&- &
    MPIRUN=$!
    wait_for has_rows
}

teardown() {
    [ -z "${MPIRUN-}" ] || kill -9 "$MPIRUN" 2>/dev/null || true
}

@test "an unknown operation is refused" { refused "'foo' is not an operation" --op foo; }
@test "an unknown option is refused" { refused "'--foo' is not an option" --foo; }
@test "an option without its value is refused" { refused "'--op'" --op; }
@test "a stray argument is refused" { refused "'stray'" stray; }
@test "a size with an unknown unit is refused" { refused "'12x' is not a size" --bytes 12x; }
@test "a size of zero is refused" { refused "--bytes: '0'" --bytes 0; }
@test "a size that splits an element is refused" { refused "multiple of 8" --op allreduce --bytes 12; }
@test "an empty list is refused" { refused "--bytes" --bytes ""; }
@test "a level that is no number is refused" { refused "'nan' is not a percentage" --levels 0,nan; }
@test "a level above 100 percent is refused" { refused "'101' is outside" --levels 101; }
@test "a level too small to deliver is refused" { refused "'0.0001' is outside" --levels 0.0001; }
@test "a level given twice is refused" { refused "twice" --levels 1,1; }
@test "lockin without levels is refused" { refused "at least one level" --levels none; }
@test "a negative duration is refused" { refused "--seconds: '-1'" --seconds -1; }
@test "a duration of zero is refused" { refused "--half-period: '0'" --half-period 0; }
@test "a half-period shorter than the noise period is refused" { refused "shorter than the noise period" --half-period 1ms --period 10ms; }
@test "a noise period out of range is refused" { refused "outside 1 ms to 60 s" --period 10us --half-period 10ms; }
@test "a time too short for one round is refused" { refused "too short: one round" --seconds 50ms; }
@test "an unknown design is refused" { refused "'foo' is not a design" --design foo; }
@test "a count with fixed doses is refused" { refused "--count: design lockin" --count 5; }
@test "a launch id that is a path is refused" { refused "--launch-id" --launch-id ../x; }
@test "an unknown kind of load is refused" {
    status=0
    launch 1 --levels 1 --kind foo || status=$?
    cat "$ERR"
    [ "$status" -eq 2 ]
    grep -q "'foo'" "$ERR"
}

@test "a half-period of broken noise periods is lengthened, and says so" {
    run "$DETECT" --dry-run --half-period 15ms --period 10ms
    [ "$status" -eq 0 ]
    [[ "$output" == *"lengthened from 15 ms to 20 ms"* ]]
}

@test "the lists name every operation, design and channel" {
    run "$DETECT" --list-operations
    [[ "$output" == *barrier* && "$output" == *allreduce* && "$output" == *alltoall* && "$output" == *empty* ]]
    run "$DETECT" --list-designs
    [[ "$output" == *lockin* && "$output" == *blocks* && "$output" == *single* ]]
    run "$DETECT" --list-channels
    [ "${#lines[@]}" -eq 5 ]
}

@test "every operation delivers the right data on 1, 2 and 3 ranks" {
    export OMPI_MCA_mpi_yield_when_idle=1 # three ranks on two cores: a spinning one would keep the others waiting
    operations=$("$DETECT" --list-operations | awk '{ print $1 }' | paste -sd ,)
    for ranks in 1 2 3; do
        launch "$ranks" --oversubscribe --design single --levels none --op "$operations" --bytes 8,2KiB --count 200 --launch-id "r$ranks"
        # empty and barrier once, the others at two sizes
        [ "$(tail -n +2 "$OUT/r$ranks/blocks.csv" | wc -l)" -eq 6 ]
        [ "$(column operations "$OUT/r$ranks/blocks.csv" | sort -u)" = 200 ]
    done
}

@test "a lockin launch writes whole pairs, one off and one on half each" {
    launch 2 --op barrier,alltoall --levels 0,5 --seconds 2 --half-period 10ms --launch-id one --seed 42
    rows=$OUT/one/halves.csv
    [ "$(head -n 1 "$rows")" = "$(grep -oE '^\| `[a-z_]+`' "$BATS_TEST_DIRNAME/../../docs/formats.md" | tr -d '|` ' | sed -n '/^operation$/,$p' | sed '1i launch' | paste -sd ,)" ]
    [ "$(column pair "$rows" | uniq -c | awk '$1 != 2' | wc -l)" -eq 0 ]
    [ "$(column arm "$rows" | sort | uniq -c | awk '{ print $1 }' | uniq | wc -l)" -eq 1 ]
    [ "$(jq -r .ended "$OUT/one/launch.json")" = complete ]
    [ "$(jq -r .rows "$OUT/one/launch.json")" -eq "$(tail -n +2 "$rows" | wc -l)" ]
    [ "$(jq -r .seed "$OUT/one/launch.json")" = 42 ]
    [ "$(jq -r '.generators | length' "$OUT/one/launch.json")" -eq 1 ]
    [ "$(jq -r '.generators[0].levels | length' "$OUT/one/launch.json")" -eq 2 ]
    [ -s "$OUT/one/hist.csv" ]
    # as many operations in the histogram as in the rows, on each of two ranks
    [ "$(column count "$OUT/one/hist.csv" | awk '{ n += $1 } END { printf "%d", n }')" -eq "$(column operations "$rows" | awk '{ n += 2 * $1 } END { printf "%d", n }')" ]
}

@test "the off halves carry no load, and the noise sits on the CPU asked for" {
    launch 2 --op barrier --levels 20 --seconds 2 --launch-id one --noise-cpu rank:0
    [ "$(jq -r '.generators[0].cpu' "$OUT/one/launch.json")" = "$(jq -r '.placement[0].cpu' "$OUT/one/launch.json")" ]
    awk -F , 'NR > 1 { n[$7]++; d[$7] += $22 } END { exit !(d["off"] / n["off"] < 5e4 && d["on"] / n["on"] > 1e6) }' "$OUT/one/halves.csv"
}

@test "the same seed gives the same order" {
    launch 1 --levels 0,1 --op empty,barrier --seconds 0.4 --seed 7 --launch-id a
    launch 1 --levels 0,1 --op empty,barrier --seconds 0.4 --seed 7 --launch-id b
    launch 1 --levels 0,1 --op empty,barrier --seconds 0.4 --seed 8 --launch-id c
    for id in a b c; do cut -d , -f 2-8 "$OUT/$id/halves.csv" >"$BATS_TEST_TMPDIR/$id"; done
    cmp "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b"
    ! cmp -s "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/c"
}

@test "blocks hold every arm once per set" {
    launch 2 --design blocks --op barrier --levels 0,1 --block 20ms --period 10ms --seconds 1 --launch-id one
    [ "$(column pair "$OUT/one/blocks.csv" | uniq -c | awk '$1 != 3' | wc -l)" -eq 0 ]
}

@test "a launch id that exists is refused and the launch stays as it was" {
    launch 1 --design single --levels none --op empty --count 10 --launch-id one
    before=$(cat "$OUT/one"/* | cksum)
    status=0
    launch 1 --design single --levels none --op empty --count 10 --launch-id one || status=$?
    [ "$status" -eq 2 ]
    grep -q 'noiselab-detect: .*--launch-id' "$ERR"
    [ "$(cat "$OUT/one"/* | cksum)" = "$before" ]
}

@test "a campaign of another schema is refused and not touched" {
    mkdir -p "$OUT/old"
    echo '{"schema": 99}' >"$OUT/old/launch.json"
    status=0
    "$DETECT" --out "$OUT" --op empty --levels none --design single 2>"$ERR" || status=$?
    cat "$ERR"
    [ "$status" -eq 2 ]
    [ "$(wc -l <"$ERR")" -eq 1 ]
    grep -q 'schema 99' "$ERR"
    [ "$(ls "$OUT")" = old ]
}

@test "an output folder that is a file is refused" {
    echo precious >"$OUT"
    status=0
    "$DETECT" --out "$OUT" --op empty --levels none --design single 2>"$ERR" || status=$?
    [ "$status" -eq 2 ]
    grep -q 'not a directory' "$ERR"
    [ "$(cat "$OUT")" = precious ]
}

@test "more ranks than CPUs are refused" {
    status=0
    launch $(($(nproc) + 1)) --op barrier --levels none --design single || status=$?
    cat "$ERR"
    [ "$status" -eq 2 ]
    [ "$(grep -c '^noiselab-detect: ' "$ERR")" -eq 1 ]
    grep -q -- '--oversubscribe' "$ERR"
}

@test "a noise CPU outside the allowed ones is refused" {
    status=0
    launch 1 --op empty --levels 1 --noise-cpu 4000 || status=$?
    cat "$ERR"
    [ "$status" -eq 2 ]
    grep -q -- '--noise-cpu: CPU 4000' "$ERR"
}

@test "SIGTERM ends the launch with a readable, marked result" {
    background --levels 1
    # shellcheck disable=SC2046
    kill -TERM $(ranks_of "$MPIRUN")
    wait "$MPIRUN" || true
    [ "$(jq -r .ended "$OUT/one/launch.json")" = interrupted ]
    [ "$(jq -r .rows "$OUT/one/launch.json")" -eq "$(tail -n +2 "$OUT/one/halves.csv" | wc -l)" ]
    [ "$(tail -c 1 "$OUT/one/halves.csv" | od -An -c | tr -d ' ')" = '\n' ]
}

@test "SIGINT to mpirun ends the launch with a readable, marked result" {
    background --levels 1
    kill -INT "$MPIRUN"
    wait "$MPIRUN" || true
    [ "$(jq -r .ended "$OUT/one/launch.json")" = interrupted ]
}

@test "kill -9 of a rank leaves no load running, and the rows readable" {
    background --levels 50
    generator=$(generator_of "$MPIRUN")
    kill -0 "$generator"
    kill -9 "$(ranks_of "$MPIRUN" | tail -n 1)"
    no_load_of "$generator"
    wait "$MPIRUN" || true
    [ "$(jq -r .ended "$OUT/one/launch.json")" = null ]
    [ "$(awk -F , 'NF != 24' "$OUT/one/halves.csv" | wc -l)" -eq 0 ]
}

@test "kill -9 of mpirun leaves no load running" {
    background --levels 50
    generator=$(generator_of "$MPIRUN")
    kill -0 "$generator"
    kill -9 "$MPIRUN"
    wait "$MPIRUN" || true
    no_load_of "$generator"
    [ "$(jq -r .ended "$OUT/one/launch.json")" = interrupted ]
}

@test "kill -9 of a rank ends a load that would go on until the end of a block" {
    mpirun --bind-to core -n 2 "$DETECT" --out "$OUT" --op barrier --design blocks --block 20s --levels 50 --seconds 80 >/dev/null 2>"$ERR" 3>&- &
    MPIRUN=$!
    wait_for has_generator "$MPIRUN"
    generator=$(generator_of "$MPIRUN")
    sleep 4
    kill -9 "$(ranks_of "$MPIRUN" | tail -n 1)"
    no_load_of "$generator"
}

@test "a TERM to noiselab run ends the launch and its load at once" {
    "$BIN/noiselab" run sensitivity --op barrier --levels 50 --seconds 60 --out "$OUT" --no-report >/dev/null 2>"$ERR" 3>&- &
    shell=$!
    wait_for has_rows
    kill -TERM $shell
    status=0
    wait $shell || status=$?
    cat "$ERR"
    [ "$status" -eq 2 ]
    grep -q 'noiselab-run: interrupted' "$ERR"
    [ "$(jq -r .ended "$OUT"/*/launch.json)" = interrupted ]
}

@test "an operation as slow as a half still has its bursts inside the loop" {
    launch 2 --op alltoall --bytes 4MiB --levels 10 --seconds 2 --half-period 10ms --launch-id one
    awk -F , 'NR > 1 && $7 == "on" { n++; with += $23 > 0 } END { print with, n; exit !(with > 0.8 * n) }' "$OUT/one/halves.csv"
}

@test "buffers larger than the memory are refused before they are filled" {
    # each of 4 ranks wants 2 x 4 x 2047 MiB: 64 GiB in all
    [ "$(awk '/MemAvailable/ { print $2 }' /proc/meminfo)" -lt 64000000 ] || skip 'this machine has the memory'
    status=0
    launch 4 --oversubscribe --op alltoall --bytes 2047MiB --levels none --design single || status=$?
    cat "$ERR"
    [ "$status" -eq 2 ]
    grep -q -- '--bytes: no memory for alltoall' "$ERR"
}

@test "fewer operations than fill a noise period are refused" {
    status=0
    launch 1 --op empty --design single --count 5 --levels 1 || status=$?
    cat "$ERR"
    [ "$status" -eq 2 ]
    grep -q 'less than one noise period' "$ERR"
}

@test "kill -9 of the generator ends the launch, says so, and keeps the rows" {
    background --levels 1
    kill -9 "$(generator_of "$MPIRUN")"
    status=0
    wait "$MPIRUN" || status=$?
    cat "$ERR"
    [ "$status" -eq 2 ]
    grep -q 'generator is gone' "$ERR"
    [[ "$(jq -r .ended "$OUT/one/launch.json")" == failed:* ]]
    [ "$(jq -r .rows "$OUT/one/launch.json")" -eq "$(tail -n +2 "$OUT/one/halves.csv" | wc -l)" ]
}
