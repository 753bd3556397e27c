#!/usr/bin/env bats
# noiselab run sensitivity --design launches and noiselab run stability: what is refused, the order of
# launches, which the seed decides, and a short run.

load ../cli/detect

plan() {
    "$BIN/noiselab" run sensitivity --design launches --op barrier --ranks 1 --seconds 60 --out "$OUT" \
        --dry-run "$@" 2>"$ERR"
}

sensitivity() { "$BIN/noiselab" run sensitivity --design launches --ranks 1 --out "$OUT" "$@" 2>"$ERR"; }

stability() { "$BIN/noiselab" run stability --out "$OUT" "$@" 2>"$ERR"; }

@test "every set holds each arm once, in the order of the seed, each is first equally often" {
    plan --launches 20 --levels 0,0.3,1 --seed 4 | sort | uniq -c >"$BATS_TEST_TMPDIR/counts"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/counts")" -eq 80 ]
    [ "$(awk '{ print $1 }' "$BATS_TEST_TMPDIR/counts" | sort -u)" = 1 ]
    [ "$(awk '{ print $4, $5 }' "$BATS_TEST_TMPDIR/counts" | sort -u | paste -sd ,)" = "0 %,0.3 %,1 %,off " ]
    # 300 sets of 3: 100 each, +- 8; five of them either way
    plan --launches 300 --levels 0,1 --seconds 2h --seed 11 |
        awk '{ if ($2 != set) first[$3]++; set = $2 } END {
        for (arm in first) print first[arm] }' >"$BATS_TEST_TMPDIR/firsts"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/firsts")" -eq 3 ]
    awk '$1 < 60 || $1 > 140 { exit 1 }' "$BATS_TEST_TMPDIR/firsts"
    [ "$(plan --launches 5 --levels 0,1 --seed 4)" != "$(plan --launches 5 --levels 0,1 --seed 5)" ]
    plan --launches 5 --levels 0,1 --seed 4 >/dev/null
    # 60 s over 15 launches
    grep -q '5 sets of 3 launches in random order (--seed 4), 4 s of measuring each' "$ERR"
    grep -q 'plan: 15 launches, total 1[0-9][0-9] s: 60 s of measuring, .* to start, ' "$ERR" ||
        grep -q 'plan: 15 launches, total 1[0-9][0-9] s: 60 s of measuring, 30 s to start' "$ERR"
}

@test "what an experiment decides itself, and values that mean nothing, are refused" {
    run_refused "--arms: --design launches makes many launches" sensitivity --arms on
    run_refused "too short for 20 launches of 1 loop(s)" sensitivity --launches 10 --op barrier --levels 1 \
        --seconds 100ms
    run_refused "--arms: on needs a treatment" sensitivity --levels none
    run_refused "--launches: '0'" sensitivity --launches 0
    run_refused "more than 18 digits" sensitivity --seed 1234567890123456789
    run_refused "--levels: the levels are 0 and the one of --reference" stability --levels 0,5
    run_refused "--design: half-periods" stability --design blocks
    run_refused "--count: give the counts" stability --count 5
    run_refused "--reference: '0' is not a level" stability --reference 0
    run_refused "--seconds: '1.5' is not a positive whole number" stability --seconds 1.5
    run_refused "--ranks: '1,' has an empty part" stability --ranks 1,
    run_refused "--counts: '0' is not a positive whole number" stability --ranks 1 --counts 5,0
    run_refused "disturb each other" stability --ranks 5000
    run_refused "--op: 'nothing' is not an operation" stability --ranks 1 --op nothing
    [ ! -e "$OUT" ]
}

@test "randomised launches of one arm each are compared one by one, in the order that the dry run gives" {
    local words=(--launches 3 --op barrier --levels 50 --seconds 2 --warmup 0s --seed 5)
    sensitivity "${words[@]}" --no-report >"$BATS_TEST_TMPDIR/text"
    sensitivity "${words[@]}" --out "$OUT.dry" --dry-run >"$BATS_TEST_TMPDIR/planned"
    [ "$(sort -u "$BATS_TEST_TMPDIR/planned" | wc -l)" -eq 6 ]
    cat "$OUT"/*/launch.json |
        jq -rs 'sort_by(.seed | tonumber) | .[] |
        "set \(.options.set): \(if .options.arms == "off" then "off"
            else "\(.options.levels_percent[0]) %" end)"' |
        sed 's/\.0 %$/ %/' | diff "$BATS_TEST_TMPDIR/planned" -
    grep -q 'sets of launches' "$BATS_TEST_TMPDIR/text"
    grep -q 'launches like these' "$BATS_TEST_TMPDIR/text"
}

@test "a short run of stability measures every configuration, and ends with the table and an answer" {
    needs_cpus 2
    ends 3 stability --ranks 2 --op barrier --seconds 1 --counts 100000 --launches 1 --reference 5 --seed 7 \
        --no-report >"$BATS_TEST_TMPDIR/stdout"
    grep -q 'noiselab-run: plan: 2 launches, total ' "$ERR"
    grep -q 'noiselab-run: plan: 2 ranks, blocks of 100000: 1 launch' "$ERR"
    [ "$(grep -c 'noiselab-run: launch [12] of 2: 2 rank' "$ERR")" -eq 2 ]
    [ "$(ls "$OUT"/*/halves.csv | wc -l)" -eq 1 ]
    grep -q '"count": *100000' "$OUT"/*/launch.json
    [ "$(column operations "$OUT"/*/blocks.csv | sort -u)" = 100000 ]
    grep -q '^No configuration is shown to be reproducible' "$BATS_TEST_TMPDIR/stdout"
    # the remark folds where it happens to
    tr -s ' \n' ' ' <"$BATS_TEST_TMPDIR/stdout" | grep -q 'reproducibility needs 3'
    grep -q 'x100000' "$BATS_TEST_TMPDIR/stdout"
}
