#!/usr/bin/env bats
# noiselab run setting: what is compared and what is refused, the answer about a setting that is a file of the
# test's own, and that it is as it was found whoever is killed. What the companion does with values is the
# business of tests/unit/noisegen/agent/test_agent.c.

load run

setup() {
    at_home
    OUT=$BATS_TEST_TMPDIR/campaign ERR=$BATS_TEST_TMPDIR/stderr
    KNOB=$BATS_TEST_TMPDIR/knob
    echo 5 >"$KNOB"
    # a journal is written only where nobody else can
    export XDG_RUNTIME_DIR=$BATS_TEST_TMPDIR/runtime
    mkdir -m 700 "$XDG_RUNTIME_DIR"
}

# run_setting ARGUMENTS: launches of one rank
run_setting() {
    "$BIN/noiselab" run setting --ranks 1 --op empty --out "$OUT" "$@" >"$BATS_TEST_TMPDIR/stdout" 2>"$ERR" \
        3>&-
}

journals() {
    find /run/noiselab "$XDG_RUNTIME_DIR" -name '*.journal' -exec grep -lF "$KNOB" {} + 2>/dev/null
}

is_restored() { [ "$(cat "$KNOB")" = 5 ] && [ -z "$(journals)" ]; }

# bats test_tags=quick
@test "what cannot be compared is refused before anything is made" {
    run_refused 'which setting? Give --set NAME=REFERENCE,OTHER' run_setting
    run_refused "'vm.stat_interval' is not NAME=REFERENCE,OTHER" run_setting --set vm.stat_interval
    run_refused "$KNOB has one value, and is compared with nothing" run_setting --set "$KNOB=1"
    run_refused 'kernel.no_such: this machine has no /proc/sys/kernel/no_such' run_setting \
        --set kernel.no_such=1,0
    run_refused "irq:no-such-device: no interrupt of /proc/interrupts is called 'no-such-device'" \
        run_setting --set irq:no-such-device=0,0+1
    run_refused '--levels: the experiment decides it' run_setting --set "$KNOB=1,0" --levels 1
    run_refused '--setting: the option of this experiment is --set' run_setting --setting "$KNOB=1,0"
    run_refused "--settle: 'soon' is not a time" run_setting --set "$KNOB=1,0" --settle soon
    run_refused "--design: 'lockin' does not have all values in one set" run_setting --set "$KNOB=1,0" \
        --design lockin
    run_refused 'do not hold one set of all values in each launch: a set takes 1 s; give more' run_setting \
        --set "$KNOB=1,0" --seconds 100ms
    run_refused 'a set takes 4 s, so 5 launches take 16 s; give more' run_setting --set "$KNOB=1,0" \
        --block 1s --seconds 15s --launches 5
    [ ! -e "$OUT" ]
    [ "$(cat "$KNOB")" = 5 ]
}

# bats test_tags=quick
@test "a dry run says what would be done and writes nothing; several settings are crossed" {
    run_setting --set "$KNOB=1,0" --dry-run
    grep -q 'rounds of 3 halves of 100 ms' "$BATS_TEST_TMPDIR/stdout"
    cp "$KNOB" other
    run_setting --set "$KNOB=1,0,2" --set "$PWD/other=1,0" --dry-run
    grep -q 'rounds of 7 halves' "$BATS_TEST_TMPDIR/stdout"
    [ "$(cat "$KNOB")" = 5 ]
    [ -e /proc/sys/vm/stat_interval ] && [ -w /proc/sys/vm/stat_interval ] ||
        skip 'there is no sysctl here that may be written'
    run_setting --set vm.stat_interval=1,10 --dry-run
    grep -q '1 s are left out after each switch' "$ERR"
    grep -q 'rounds of 3 halves of 1 s' "$BATS_TEST_TMPDIR/stdout"
}

@test "a setting that does nothing has its answer in terminal, JSON and report, and is as it was found" {
    ends '0|3' run_setting --set "$KNOB=1,0" --seconds 4s --block 20ms --margin 20
    is_restored
    file=$(realpath "$OUT"/*/launch.json)
    jq -e --arg knob "$KNOB" \
        '.ended == "complete" and .agents[0].settings == [{file: $knob, found: "5", left: "5"}] and
        .options.settings.arms == [{kind: "knob-0", values: ["0"]}, {kind: "placebo", values: ["1"]}]' "$file"
    [ "$(sed '1,/^launch\t/d' "$OUT/schedule.tsv" | grep -c -- "--setting	$KNOB=1,0")" -eq 1 ]
    "$BIN/noiselab" analyze setting --json "$OUT" >json || ends '0|3' true
    jq -e '.margin_percent == 20 and (.rows | length) == 1 and .rows[0].kind == "knob-0" and
        .rows[0].n > 20 and
        (.writing | length) == 1 and (.answer == "pass" or .answer == "inconclusive") and
            (.first_screen | length) == 2' json
    first=$(jq -r '.first_screen[0]' json)
    tr '\n' ' ' <"$BATS_TEST_TMPDIR/stdout" | grep -qF -- "$first"
    sed 's/&#39;/'"'"'/g; s/&amp;/\&/g' "$OUT/report.html" | tr '\n' ' ' | grep -qF -- "$first"
}

@test "a run that is killed at any stage leaves the setting as it was found" {
    for victim in noiselab-agent noiselab-detect mpirun noiselab-run; do
        rm -rf "$OUT"
        "$BIN/noiselab" run setting --ranks 1 --op empty --out "$OUT" --set "$KNOB=1,0" --seconds 60s \
            --block 20ms --no-report \
            >"$BATS_TEST_TMPDIR/stdout" 2>"$ERR" 3>&- &
        started=$!
        wait_until 30 has_blocks
        [ "$(cat "$KNOB")" != 5 ]
        pids=$(of_campaign "$victim")
        [ "$victim" != noiselab-run ] || pids=$started
        kill -9 $pids || skip "there is no $victim among these processes"
        wait_until 30 is_restored
        [ "$victim" = noiselab-run ] || kill "$started" 2>/dev/null || true
        wait "$started" || true
        wait_until 30 none_of_campaign
    done
}

has_blocks() { [ "$(cat "$OUT"/*/blocks.csv 2>/dev/null | wc -l)" -gt 10 ]; }

@test "what only a boot changes has one launch a boot, and too few boots are told with their number" {
    boots() {
        "$BIN/noiselab" run setting --ranks 1 --op empty --out "$OUT" \
            --seconds 1s "$@" >"$BATS_TEST_TMPDIR/stdout" 2>"$ERR" 3>&-
    }
    run_refused "--between-boots: 'a b' is not a name" boots --between-boots 'a b'
    run_refused '--set: --between-boots has one launch of each boot' boots --between-boots plain \
        --set "$KNOB=1,0"
    boots --between-boots plain
    boot=$(cut -c 1-8 /proc/sys/kernel/random/boot_id)
    [ -e "$OUT/plain-$boot/schedule.tsv" ]
    tr '\n' ' ' <"$BATS_TEST_TMPDIR/stdout" |
        grep -q 'There are boots: 1 of plain. The exact two-sided test at 98 % takes 5 of each'
    run_refused "--between-boots: this boot has its launch already ('$OUT/plain-$boot')" boots \
        --between-boots other
    # as if this machine had been booted ten times
    for i in 1 2 3 4 5; do
        cp -r "$OUT/plain-$boot" "$OUT/plain-0000000$i"
        cp -r "$OUT/plain-$boot" "$OUT/other-1000000$i"
        awk -F , -v OFS=, \
            'NR == 1 { for (c = 1; c <= NF; c++) at[$c] = c } NR > 1 {
            $at["wall_ns"] = int(1.1 * $at["wall_ns"]) } 1' \
            "$OUT/plain-$boot"/*/blocks.csv >"$(ls "$OUT/other-1000000$i"/*/blocks.csv)"
        for name in plain-0 other-1; do
            jq --arg at "2026-0$((${name#*-} + 1))-0${i}T00:00:00Z" '.started_utc = $at' \
                "$OUT/plain-$boot"/*/launch.json >"$(ls "$OUT/${name}000000$i"/*/launch.json)"
        done
    done
    rm -r "$OUT/plain-$boot"
    ends 1 "$BIN/noiselab" analyze boots --margin 5 --json "$OUT"/*-[01]000000? >"$BATS_TEST_TMPDIR/json"
    jq -e '.answer == "fail" and .boots == {other: 5, plain: 5} and
        (.rows[0] | .outcome == "slower" and (.p_two_sided - 2 / 252 | fabs) < 1e-9)' \
        "$BATS_TEST_TMPDIR/json"
}
