#!/usr/bin/env bats
# Synchronised starts: that ranks start when they should. What is written of them is the business of
# tests/cli/starts.bats.

load ../cli/detect

# overshoot_is_small: half of the starts of each loop are late by less than 100 us
overshoot_is_small() { column overshoot_ns_p50 "$OUT/one/blocks.csv" | awk '$1 > 100000 { exit 1 }'; }

@test "a late rank is late by what was asked, and counted as the last to start" {
    single 2 --op barrier --starts round --arrival late-one:amount=200us --count 500
    # the spread of arrivals is the delay or more, and the last rank is the late one nearly always
    column spread_ns "$OUT/one/blocks.csv" | awk '$1 < 500 * 199000 { exit 1 }'
    judge [ "$(awk -F , '$1 == 1 { print $18 }' "$OUT/one/ranks.csv")" -gt 400 ]
    # a delay that was asked for is no overshoot
    judge overshoot_is_small
}

@test "a trace of arrivals delays the ranks it names" {
    printf '# rank delays\n0 300000\n' >"$BATS_TEST_TMPDIR/trace"
    single 2 --op barrier --starts round --arrival "trace:file=$BATS_TEST_TMPDIR/trace" --count 300
    judge [ "$(awk -F , '$1 == 0 { print $18 }' "$OUT/one/ranks.csv")" -gt 240 ]
    printf '0 x\n' >"$BATS_TEST_TMPDIR/bad"
    fails_with 2 "bad:1" launch 1 --design single --levels none --op barrier --starts round \
        --arrival "trace:file=$BATS_TEST_TMPDIR/bad" --count 300
}

# cost_of OPERATION: what a ns that the last rank comes late costs it, by the medians of its halves
cost_of() {
    awk -v op="$1" "$header"'
        $c["operation"] != op || ($c["arm"] == "on" && $c["late_ns"] == "") { next }
        { print $c["arm"], $c["wall_ns"] / $c["operations"],
            $c["late_ns"] / $c["operations"] }' "$OUT/one/halves.csv" | sort -k 1,1 -k 2,2g |
        awk '{ t[$1, ++n[$1]] = $2; if ($1 == "on") by += $3 }
            function median(arm) { return (t[arm, int((n[arm] + 1) / 2)] + t[arm, int(n[arm] / 2) + 1]) / 2 }
            END { print (median("on") - median("off")) / (by / n["on"]) }'
}
# share_alone: of the lateness, what the later of two ranks has that do not wait for each other: of n calls,
# each late by the throw of a coin, it has n / 2 and on the average sqrt(n / (2 pi)) more
share_alone() {
    awk "$header"'
        $c["operation"] == "empty" && $c["arm"] == "on" && $c["late_ns"] != "" {
            sum += 0.5 + 1 / sqrt(2 * 3.14159265 * $c["operations"]); n++ }
        END { print sum / n }' "$OUT/one/halves.csv"
}
is_about() { awk -v got="$1" -v wanted="$2" 'BEGIN { exit !(got > 0.9 * wanted && got < 1.1 * wanted) }'; }

# What both ranks wait for costs the whole lateness and no more, whoever is late; where nobody waits each of
# two ranks has its own half.
@test "what a late rank costs is the lateness itself in a barrier, and half of it where nobody waits" {
    needs_cpus 2
    launch 2 --op barrier,allreduce,empty --bytes 8 --levels 0 --arrival late-any:amount=100us \
        --per-operation-timing off --seconds 3 --launch-id one
    [ "$(awk -F , '$NF != "" && $7 != "on"' "$OUT/one/halves.csv" | tail -n +2 | wc -l)" -eq 0 ]
    [ "$(grep -c ',late-any,' "$OUT/one/halves.csv")" -gt 10 ]
    ! grep -q late-any "$OUT/one/ranks.csv" "$OUT/one/nodes.csv"
    [ "$(json .options.late.arrival)" = '"late-any"' ]
    awk -F , '$NF ~ /^[0-9]+$/ && $NF != 100000 * $12 { print; bad = 1 } END { exit bad }' \
        "$OUT/one/halves.csv"
    judge is_about "$(cost_of barrier)" 1
    judge is_about "$(cost_of allreduce)" 1
    judge is_about "$(cost_of empty)" "$(share_alone)"
}

@test "the load in a loop of starts is certified as delivered, also when clocks are compared meanwhile" {
    # comparing takes 0.8 s each time, and the load goes on: it must not count
    single 2 --levels 5 --op barrier --starts round:fake-clock=1ms,sync-every=700ms --seconds 2.2
    [ "$(json .start.sync.runs)" -ge 3 ]
    judge [ "$(json '.generators[0].levels[0].ratio < 1.2')" = true ]
}

@test "clocks that are an hour and 50 ppm apart are brought together" {
    single 2 --op empty --starts round:fake-clock=1h,50ppm --seconds 1
    row=$(awk -F , '$4 == 1 { print }' "$OUT/one/clocks.csv")
    judge awk -F , '{ exit !($7 == 1 && $8 > 3.599e12 && $8 < 3.601e12 && $9 > 45 && $9 < 55) }' <<<"$row"
    # the ranks start together to within what the synchronisation says of itself, and not an hour apart
    judge overshoot_is_small
    [ "$(json .start.clock.fake)" != null ]
}
