#!/usr/bin/env bats
# noiselab-detect on the command line: what it refuses, what it writes.

load detect

# bats test_tags=quick
@test "what is misspelt, out of range, doubled, left out, or makes no sense together is refused in one line" {
    for words in 'op foo' 'design foo' 'bytes 12x' 'bytes 0' 'seconds -1' 'half-period 0' 'wait-quiet soon' \
        'kind ../x' 'phase nearly'; do
        refused "--${words% *}: '${words#* }'" "--${words% *}" "${words#* }"
    done
    refused "'--foo': unknown option" --foo
    refused '--op: needs a value' --op
    refused "'stray'" stray
    refused "multiple of 8" --op allreduce --bytes 12
    refused "--bytes" --bytes ""
    refused "'nan' is not a percentage" --levels 0,nan
    refused "'101' is outside" --levels 101
    refused "'0.0001' is outside" --levels 0.0001
    refused "at least one level" --levels none
    refused "shorter than the noise period" --half-period 1ms --period 10ms
    refused "outside 1 ms to 60 s" --period 10us --half-period 10ms
    refused "too short: one round" --seconds 50ms
    refused "--count: design lockin" --count 5
    refused "--launch-id" --launch-id ../x
    refused "--kind: the list is empty" --kind spin,,sum
    refused "--kind: 'spin' stands twice" --kind spin,spin
    refused "--levels: '1.0' stands twice" --levels 1,1.0
    refused '--op, --bytes: allreduce of 1024 bytes stands twice' --op allreduce:1KiB,allreduce:1024
    refused "--on: 'cpu 1' is not a list of places" --on 'cpu 1'
    refused "--on: 'last' is not a new place" --on last --on last
    refused "72 combinations, more than 63" --kind a,b,c,d,e,f --pattern a,b,c --levels 0,1,2,3
    refused "--preset: there is no preset 'nobody'" --preset nobody
}

@test "what the generator cannot do is refused by it in one line" {
    for wrong in "--kind foo|'foo'" "--kind seed|cannot be switched" \
        "--pattern often|'often' is not a pattern" "--kind sum:array-bytes=x|--kind: array-bytes: 'x'" \
        "--kind spin:array-bytes=1MB|does not apply to the kind spin" "--pattern replay|--replay is missing" \
        "--kind disk|--kind: folder is missing"; do
        fails_with 2 "${wrong##*|}" launch 1 --op empty --levels 1 ${wrong%%|*}
        [ "$(grep -c '^noiselab-gen: ' "$ERR")" -eq 1 ]
    done
    fails_with 2 "--on: 'rank:5': this node has ranks 0 to 0" launch 1 --op empty --levels 1 --on rank:5
    fails_with 2 '--on: CPU 4000 is not among the allowed CPUs' launch 1 --op empty --levels 1 --on cpu:4000
    fails_with 2 'less than one noise period' launch 1 --op empty --design single --count 5 --levels 1
}

@test "a preset sets kind and pattern, and the user's own words come first" {
    mkdir "$BATS_TEST_TMPDIR/presets"
    printf '%s\n' '# one' 'kind = sum' 'pattern = poisson' 'array-bytes = 1MB' 'level = 3' \
        >"$BATS_TEST_TMPDIR/presets/own.preset"
    export NOISELAB_PRESETS="$BATS_TEST_TMPDIR/presets"
    launch 1 --op empty --preset own --levels 5 --warmup 0s --seconds 0.2 --launch-id one
    [ "$(jq -c '[.options.kinds, .options.patterns, .generators[0].kind_bytes,
        .options.preset]' "$OUT/one/launch.json")" = '[["sum"],["poisson"],1000000,"own"]' ]
    launch 1 --op empty --preset own --kind spin,sum:array-bytes=2MB --levels 5 --warmup 0s --seconds 0.2 \
        --launch-id two
    [ "$(jq -c '[.options.kinds, .options.patterns, .generators[0].kind_bytes]' "$OUT/two/launch.json")" = \
        '[["spin","sum"],["poisson"],2000000]' ]
}

# bats test_tags=quick
@test "the lists name every operation, design and channel; a half-period of broken periods is lengthened" {
    for name in allreduce alltoall empty; do "$DETECT" --list operations | grep -q "^$name "; done
    for name in lockin blocks single; do "$DETECT" --list designs | grep -q "^$name "; done
    [ "$("$DETECT" --list channels | wc -l)" -eq 6 ]
    "$DETECT" --dry-run --half-period 15ms --period 10ms 2>&1 | grep -q 'lengthened from 15 ms to 20 ms'
}

@test "operations are timed on 1 and 3 ranks" {
    take_turns
    for ranks in 1 3; do
        launch "$ranks" --oversubscribe --design single --levels none --op empty,alltoall --bytes 8,2KiB \
            --count 200 --seconds 30ms --warmup 0s --launch-id "r$ranks"
        # empty once, the other at two sizes
        [ "$(tail -n +2 "$OUT/r$ranks/blocks.csv" | wc -l)" -eq 3 ]
        [ "$(column operations "$OUT/r$ranks/blocks.csv" | sort -u)" = 200 ]
    done
}

# bats test_tags=mpi
@test "a lockin launch writes whole pairs, one off and one on half each" {
    launch 2 --op barrier,alltoall --levels 0,5 --seconds 0.4 --warmup 0s --half-period 10ms --launch-id one \
        --seed 42
    rows=$OUT/one/halves.csv
    # the columns are those that formats.md describes, in that order
    [ "$(head -n 1 "$rows")" = \
        "$(described_columns halves)" ]
    [ "$(column pair "$rows" | uniq -c | awk '$1 != 2' | wc -l)" -eq 0 ]
    [ "$(column arm "$rows" | sort | uniq -c | awk '{ print $1 }' | uniq | wc -l)" -eq 1 ]
    jq -e --argjson rows "$(tail -n +2 "$rows" | wc -l)" \
        '.ended == "complete" and .rows == $rows and .seed == "42" and (.generators | length) == 1 and
        (.generators[0].levels | length) == 2 and
        .sequential == null and has("sequential") and .options.arms == "both" and
            .options.set == null' "$OUT/one/launch.json"
    # as many operations in the histogram as in the rows, on each of two ranks
    [ "$(column count "$OUT/one/hist.csv" | awk '{ n += $1 } END { printf "%d", n }')" \
        -eq "$(column operations "$rows" | awk '{ n += 2 * $1 } END { printf "%d", n }')" ]
}

@test "what a hypervisor took from the ranks stands in every row, where the scheduler's account tells it" {
    for account in scheduler clocks; do
        launch 1 --op barrier --levels 1 --seconds 0.1 --warmup 0s --half-period 10ms --launch-id "$account" \
            --preempted-by "$account"
    done
    launch 1 --op barrier --design single --starts round --seconds 0.2 --warmup 0s --launch-id starts \
        --preempted-by scheduler
    awk "$header"'
        { n++; max = $c["rank_steal_ns_max"]; sum = $c["rank_steal_ns_sum"] }
        max !~ /^-?[0-9]+$/ || sum !~ /^-?[0-9]+$/ || max > $c["wall_ns"] || max < -50000 || sum != max {
            print FILENAME ": " $0; exit bad = 1 }
        END { exit bad || n < 4 }' "$OUT/scheduler/halves.csv" "$OUT/starts/blocks.csv"
    [ -z "$(column rank_steal_ns_max "$OUT/clocks/halves.csv" | tr -d '\n')" ]
    [ -z "$(column rank_steal_ns "$OUT/clocks/ranks.csv" | tr -d '\n')" ]
}

# bats test_tags=mpi
@test "the same seed gives the same order, and blocks hold every arm once per set" {
    for id in a:7 b:7 c:8; do
        launch 1 --design blocks --block 4ms --period 2ms --levels 0,1 --op empty,barrier --warmup 0s \
            --seconds 0.1 --seed "${id#*:}" --launch-id "${id%:*}"
        cut -d , -f 2-8 "$OUT/${id%:*}/blocks.csv" >"$BATS_TEST_TMPDIR/${id%:*}"
        [ "$(column pair "$OUT/${id%:*}/blocks.csv" | uniq -c | awk '$1 != 3' | wc -l)" -eq 0 ]
    done
    cmp "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b"
    ! cmp -s "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/c"
}

@test "a launch id that exists, another schema and a file for a folder are refused, and stay as they were" {
    local words=(--op empty --design single --levels none --count 10 --warmup 0s --launch-id one)
    launch 1 "${words[@]}"
    before=$(cat "$OUT/one"/* | cksum)
    fails_with 2 '--launch-id' launch 1 "${words[@]}"
    [ "$(cat "$OUT/one"/* | cksum)" = "$before" ]
    echo '{"schema": 99}' >"$OUT/one/launch.json"
    fails_with 2 'schema 99' launch 1 "${words[@]}"
    [ "$(wc -l <"$ERR")" -eq 1 ]
    [ "$(ls "$OUT")" = one ]
    rm -r "$OUT"
    echo precious >"$OUT"
    fails_with 2 'not a directory' launch 1 "${words[@]}"
    [ "$(cat "$OUT")" = precious ]
}

@test "more ranks than CPUs are refused" {
    # a rank may use the CPUs that the system gives the node, and is itself confined to fewer
    [ "$(nproc)" -eq "$(nproc --all)" ] ||
        skip "some of the $(nproc --all) CPUs are taken away by taskset or a cgroup, which the detector does \
not count"
    too_many() {
        on_cores $(($(nproc) + 1)) "$DETECT" --out "$OUT" --op barrier --levels none --design single 2>"$ERR"
    }
    fails_with 2 '--oversubscribe' too_many
    [ "$(grep -c '^noiselab-detect: ' "$ERR")" -eq 1 ]
}

@test "buffers larger than the memory are refused before they are filled" {
    # each of 4 ranks wants 2 x 4 x 2047 MiB: 64 GiB in all
    [ "$(awk '/MemAvailable/ { print $2 }' /proc/meminfo)" -lt 64000000 ] ||
        skip 'this machine has the memory'
    fails_with 2 '--bytes: no memory for alltoall' launch 4 --oversubscribe --op alltoall --bytes 2047MiB \
        --levels none --design single
}

@test "a rank that its MPI library does not know of is refused: the launcher belongs to another library" {
    # what mpirun of MVAPICH would have set; to the library here the process is alone
    export MV2_COMM_WORLD_RANK=0 MV2_COMM_WORLD_SIZE=2 MV2_COMM_WORLD_LOCAL_RANK=0
    refused 'MVAPICH started 2 ranks' --op empty --levels none --design single
    # the others end too, and leave it to the first to say why
    MV2_COMM_WORLD_RANK=1 MV2_COMM_WORLD_LOCAL_RANK=1 ends 2 "$DETECT" --out "$OUT" --op empty --levels none \
        --design single 2>"$ERR"
    [ ! -s "$ERR" ]
    [ ! -e "$OUT" ]
}

@test "a half that is held up ends by the clock, after as many operations on all ranks" {
    take_turns
    on_cores 3 timeout 120 "$BIN/../tests-mpi/together_probe"
    launch 1 --op empty --design blocks --levels 1 --period 1ms --block 20ms --seconds 0.3 --warmup 0s \
        --count 100000 --launch-id one
    [ "$(column operations "$OUT/one/blocks.csv" | sort -u)" = 100000 ]
    jq -e '.operations_set == 0' "$OUT/one/launch.json"
}

@test "a run that is held up ends by the clock with whole rounds, and says what it left out" {
    background --levels 0,1 --seconds 1 --warmup 0s --half-period 10ms
    for rank in $(ranks_of "$MPIRUN"); do kill -STOP "$rank"; done
    sleep 2
    for rank in $(ranks_of "$MPIRUN"); do kill -CONT "$rank"; done
    wait "$MPIRUN"
    json=$OUT/one/launch.json
    jq -e '.ended == "complete" and .rounds_planned == 25 and .rounds_done >= 1 and .rounds_done < 25 and
        .rows == .rounds_done * 4' "$json"
    jq -e '[.warnings[] | select(test("of 25 rounds were run"))] | length == 1' "$json"
    grep -q 'noiselab-detect: .*of 25 rounds were run' "$ERR"
    [ "$(column pair "$OUT/one/halves.csv" | uniq -c | awk '$1 != 2' | wc -l)" -eq 0 ]
}

@test "what keeps the ranks' CPUs busy before measuring is named, and waited for as long as asked" {
    cp "$BIN/../bench/bench_busy" "$BATS_TEST_TMPDIR/nl-hog"
    taskset -c "$FIRST_CPU" "$BATS_TEST_TMPDIR/nl-hog" 40ms 100ms 3>&- &
    AGENT=$!
    launch 1 --op empty --levels none --design blocks --block 20ms --period 20ms --seconds 0.2 --warmup 0s \
        --launch-id one --wait-quiet 3s
    grep -q "noiselab-detect: .*before measuring: CPU $FIRST_CPU is [0-9]* % busy" "$ERR"
    grep -q 'noiselab-detect: .*--wait-quiet: the CPUs are not quiet after' "$ERR"
    jq -e '.options.wait_quiet_ns == 3e9 and
        (.before | (.quiet | not) and .looks == 2 and .waited_s >= 2.5 and .waited_s < 20 and
            .look_s == 1)' "$OUT/one/launch.json"
    # on a machine that is busy with other work, too, it may not be among the first three tasks
    jq -e --argjson cpu "$FIRST_CPU" \
        '.before.nodes | length == 1 and .[0].n_cpus == 1 and
        (.[0].cpus[0] | .cpu == $cpu and .busy_percent > 20 and
        (.tasks | length >= 1 and (any(.name == "nl-hog") or length == 3)))' "$OUT/one/launch.json"
}

@test "a launch too short for any verdict says so before it runs, and how long would do" {
    dry_run() { "$DETECT" --dry-run --op barrier --out "$OUT" "$@" 2>"$ERR"; }
    dry_run --levels 0,1 --seconds 0.2 --half-period 10ms
    grep -qF "5 pair(s) of each operation and level: by itself this launch is too short for any verdict at \
alpha 0.01, which takes 7 (--seconds 0.28)" "$ERR"
    dry_run --levels 0,1 --seconds 0.28 --half-period 10ms
    [ ! -s "$ERR" ]
    dry_run --design blocks --block 1s --levels 1 --seconds 6
    grep -qF '3 set(s) of each operation and level' "$ERR"
    dry_run --design single --levels none --seconds 1
    [ ! -s "$ERR" ]
    launch 1 --op empty --levels 0 --seconds 0.1 --warmup 0s --half-period 10ms --launch-id one
    jq -e '([.warnings[] | select(test("too short for any verdict"))] | length == 1) and
        (.before | .looks == 1 and .look_s == 0.1 and .waited_s < 10 and
            (.nodes[0] | .n_cpus == 1 and .resolution_percent > 0))' "$OUT/one/launch.json"
    if jq -e .before.quiet "$OUT/one/launch.json"; then ! grep 'not quiet' "$ERR"; fi
}

@test "a launch with a generator keeps slices and when the generator ran, one without keeps neither" {
    launch 1 --op empty --levels 20 --seconds 0.4 --warmup 0s --half-period 20ms --period 10ms \
        --launch-id with
    [ "$(head -c 8 "$OUT"/with/slices.*.bin)" = NLSLICES ]
    [ "$(grep -ao SLCE "$OUT"/with/slices.*.bin | wc -l)" -ge "$(($(wc -l <"$OUT/with/halves.csv") - 1))" ]
    grep -qE '^# origin_monotonic_ns: [0-9]+$' "$OUT"/with/generator.*.trace
    grep -qE '^# span_ns: [0-9]+$' "$OUT"/with/generator.*.trace
    # start, length, CPU; starts do not go back
    grep -v '^#' "$OUT"/with/generator.*.trace |
        awk -F '\t' -v cpu="$FIRST_CPU" \
        'NF != 3 || $1 < last || $2 <= 0 || $3 != cpu { bad = 1 } { last = $1 } END { exit bad }'
    launch 1 --op empty --levels none --design blocks --block 20ms --seconds 0.1 --warmup 0s \
        --launch-id without
    run ls "$OUT"/without/slices.* "$OUT"/without/generator.*
    [ "$status" -ne 0 ]
}

@test "a CPU quota is named before measuring, and the time that it took stands in each row" {
    # so little that a busy machine, too, gives more
    under_quota 10000 launch 1 --op empty --levels 1 --half-period 20ms --seconds 3 --launch-id one
    grep -qE 'before measuring: a quota of 0.1 CPUs \(10 ms of every 100 ms, /sys/fs/cgroup/[^)]*\) holds '\
'for the 1 rank\(s\) of .*: they need more' "$ERR"
    jq -e '.hosts[0].cpu_quota | .cpus == 0.1 and .quota_ns == 10000000 and .period_ns == 100000000 and
        .above == 0' "$OUT/one/launch.json"
    # it stood still for most of the time, and its wait for a CPU is that
    column throttled_ns "$OUT/one/halves.csv" >"$BATS_TEST_TMPDIR/throttled"
    column wall_ns "$OUT/one/halves.csv" | paste "$BATS_TEST_TMPDIR/throttled" - |
        awk '{ t += $1; w += $2 } END { print t, w; exit !(t > 0.3 * w) }'
    "$BIN/noiselab-analyze" "$OUT" >"$BATS_TEST_TMPDIR/stdout"
    tr -s '\n ' ' ' <"$BATS_TEST_TMPDIR/stdout" |
        grep -q 'a CPU quota of 0.1 CPUs (/sys/fs/cgroup/.*) stopped the ranks for'
    rm -r "$OUT"
    launch 1 --op empty --levels 1 --half-period 20ms --seconds 0.2 --warmup 0s --launch-id one
    [ "$(grep -c quota "$ERR")" -eq 0 ]
    jq -e '.hosts[0].cpu_quota == null' "$OUT/one/launch.json"
    [ -z "$(column throttled_ns "$OUT/one/halves.csv" | tr -d '\n')" ]
}

@test "who had the ranks' CPUs is held against the kernel's account, and whom /proc hides is missing" {
    # share of CPU time that nobody accounts for is printed, seen or not
    launch 1 --op empty --levels none --design single --seconds 1.5 --launch-id seen
    jq -e '.cpu_account | length == 1 and (.[0] | .n_cpus == 1 and .blind == null and .tasks_seen > 5 and
        .own_ns > 0 and
        (.busy_ns - .own_ns - .tasks_ns - .interrupts_ns - .steal_ns - .unaccounted_ns |
            fabs) <= .resolution_percent / 100 * .span_ns)' "$OUT/seen/launch.json"
    [ "$(id -u)" = 0 ] || skip "another user's tasks, and a /proc that hides them, need root"
    unshare -m sh -c 'mount -t proc -o hidepid=2 proc /proc' 2>/dev/null || skip "no mount namespaces here"
    THEIRS=$(mktemp -d) # where bats keeps its files nobody else may look
    chown 65534 "$THEIRS"
    setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$DETECT" -a -w "$THEIRS" ||
        skip "another user may not read this folder"
    taskset -c "$FIRST_CPU" sh -c 'while :; do :; done' 3>&- &
    AGENT=$!
    unshare -m sh -c 'mount -t proc -o hidepid=2 proc /proc && exec "$@"' sh \
        setpriv --reuid 65534 --regid 65534 --clear-groups \
        env -u OMPI_MCA_btl_vader_backing_directory -u OMPI_MCA_btl_sm_backing_directory \
        TMPDIR="$THEIRS" HOME="$THEIRS" taskset -c "$FIRST_CPU" "$DETECT" --out "$THEIRS/c" --op empty \
        --levels none \
        --design single --seconds 1.5 --launch-id hidden
    kill "$AGENT"
    # at least as much as the load's fair share of the CPU, in the time measured
    jq -e '(.cpu_account[0] | .unaccounted_percent > 15 and .worst_cpu.unaccounted_percent > 15 and
        (.blind | test("hidepid")) and .tasks_seen < .tasks_there / 2) and
        ([.warnings[] | select(test("nobody accounts for"))] | length == 1)' "$THEIRS/c/hidden/launch.json"
}
