#!/usr/bin/env bats
# noiselab run sensitivity --design launches: one launch per arm, in an order that the seed decides; and a short run of it.

load ../cli/detect

plan() { "$BIN/noiselab" run sensitivity --design launches --op barrier --ranks 1 --seconds 60 --out "$OUT" --dry-run "$@" 2>"$ERR"; }

sensitivity() { "$BIN/noiselab" run sensitivity --design launches --ranks 1 --out "$OUT" "$@" >/dev/null 2>"$ERR"; }

@test "every set holds each arm once, in the order of the seed, each is first equally often, and the time is shared out" {
    plan --launches 20 --levels 0,0.3,1 --seed 4 | sort | uniq -c >"$BATS_TEST_TMPDIR/counts"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/counts")" -eq 80 ]
    [ "$(awk '{ print $1 }' "$BATS_TEST_TMPDIR/counts" | sort -u)" = 1 ]
    [ "$(awk '{ print $4, $5 }' "$BATS_TEST_TMPDIR/counts" | sort -u | paste -sd ,)" = "0 %,0.3 %,1 %,off " ]
    plan --launches 9 --levels 0,1 --seed 4 >"$BATS_TEST_TMPDIR/a"
    plan --launches 9 --levels 0,1 --seed 4 >"$BATS_TEST_TMPDIR/b"
    plan --launches 9 --levels 0,1 --seed 5 >"$BATS_TEST_TMPDIR/c"
    cmp "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/b"
    ! cmp -s "$BATS_TEST_TMPDIR/a" "$BATS_TEST_TMPDIR/c"
    # 300 sets of 3: 100 each, +- 8; five of them either way
    plan --launches 300 --levels 0,1 --seconds 2h --seed 11 | awk '{ if ($2 != set) first[$3]++; set = $2 } END { for (arm in first) print first[arm] }' >"$BATS_TEST_TMPDIR/firsts"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/firsts")" -eq 3 ]
    awk '$1 < 60 || $1 > 140 { exit 1 }' "$BATS_TEST_TMPDIR/firsts"
    plan --launches 5 --levels 0,1 --seed 4 >/dev/null
    # 60 s over 15 launches
    grep -q '5 sets of 3 launches in random order (--seed 4), 4 s of measuring each and about 2 s to start: some 90 s' "$ERR"
}

@test "what it decides itself, and what does not fit, is refused" {
    run_refused "--arms: --design launches makes many launches" sensitivity --arms on
    run_refused "--launch-id: --design launches makes many launches" sensitivity --launch-id x
    run_refused "too short for 20 launches of 1 loop(s)" sensitivity --launches 10 --op barrier --levels 1 --seconds 100ms
    run_refused "--arms: on needs a treatment" sensitivity --levels none
    run_refused "--launches: '0'" sensitivity --launches 0
    run_refused "--levels: 'x'" sensitivity --levels x
    run_refused "more than 18 digits" sensitivity --seed 1234567890123456789
    [ ! -e "$OUT" ]
}

@test "randomised launches of one arm each are compared launch by launch" {
    "$BIN/noiselab" run sensitivity --design launches --launches 3 --op barrier --ranks 1 --levels 50 --seconds 2 --warmup 0s --seed 5 --out "$OUT" --no-report >"$BATS_TEST_TMPDIR/text" 2>"$ERR"
    [ "$(cat "$OUT"/*/launch.json | jq -s 'length')" -eq 6 ]
    # three launches of each arm, one in every set, in the order that the dry run gives
    [ "$(cat "$OUT"/*/launch.json | jq -rs 'map([.options.set, .options.arms, .options.levels_percent[0]]) | unique | length')" -eq 6 ]
    "$BIN/noiselab" run sensitivity --design launches --launches 3 --op barrier --ranks 1 --levels 50 --seconds 2 --warmup 0s --seed 5 --out "$OUT.dry" --dry-run 2>/dev/null >"$BATS_TEST_TMPDIR/planned"
    cat "$OUT"/*/launch.json | jq -rs 'sort_by(.seed | tonumber) | .[] | "set \(.options.set): \(if .options.arms == "off" then "off" else "\(.options.levels_percent[0]) %" end)"' |
        sed 's/\.0 %$/ %/' | diff "$BATS_TEST_TMPDIR/planned" -
    grep -q 'sets of launches' "$BATS_TEST_TMPDIR/text"
    grep -q 'launches like these' "$BATS_TEST_TMPDIR/text"
}
