#!/usr/bin/env bats
# noiselab analyze equivalent: what it prints is a command that noiselab-gen takes.

load detect

@test "the setting that is like each recorded preset has its period, and noiselab-gen takes it" {
    cd "$BATS_TEST_DIRNAME/../../noisegen/presets"
    "$BIN/noiselab-analyze" equivalent collectd-1s.trace collectd.trace node_exporter.trace sadc.trace slurm-accounting.trace --json \
        >"$BATS_TEST_TMPDIR/json"
    jq -r '.settings[].command | join(" ")' "$BATS_TEST_TMPDIR/json" >"$BATS_TEST_TMPDIR/commands"
    # bursts of one length are not like those of an agent, whose lengths differ; their period is
    [ "$(jq -r '.settings[].goodness' "$BATS_TEST_TMPDIR/json" | sort -u)" = fair ]
    jq -e '[.settings[] | .far_share < 0.2 and .ks_lengths > 0.25] | all' "$BATS_TEST_TMPDIR/json"
    [ "$(sed 's/.*--level \([^ ]*\) --period \([^ ]*\) .*/\1 \2/' "$BATS_TEST_TMPDIR/commands" | paste -sd ';' -)" = \
        '0.0623 1s;0.00635 10s;1.1 1s;0.062 1s;0.113 1s' ]
    while read -r program arguments; do
        [ "$program" = noiselab-gen ]
        "$BIN/noiselab-gen" $arguments --dry-run </dev/null
    done <"$BATS_TEST_TMPDIR/commands"
}

@test "a trace without a period, of bursts in groups or at random places is given as a pattern that noiselab-gen takes" {
    # 300 bursts of 1 ms: at distances of a linear congruential generator; five together, 10 ms apart; once anywhere in 100 ms
    awk 'BEGIN { x = 7; for (i = 0; i < 300; i++) { x = (x * 16807) % 2147483647; t += -log(x / 2147483647) * 1e8 + 1e6
        printf "%.0f\t1000000\t%d\n", t, CPU } }' CPU="$FIRST_CPU" >"$BATS_TEST_TMPDIR/poisson"
    awk -v CPU="$FIRST_CPU" 'BEGIN { for (i = 0; i < 300; i++) printf "%.0f\t1000000\t%d\n", int(i / 5) * 5e8 + i % 5 * 1e7, CPU }' \
        >"$BATS_TEST_TMPDIR/bursts"
    awk -v CPU="$FIRST_CPU" 'BEGIN { x = 7; for (i = 0; i < 300; i++) { x = (x * 16807) % 2147483647
        printf "%.0f\t1000000\t%d\n", i * 1e8 + x / 2147483647 * 9.9e7, CPU } }' >"$BATS_TEST_TMPDIR/jittered"
    sed -i "s/[0-9]*\$/$FIRST_CPU/" "$BATS_TEST_TMPDIR/poisson"
    for pattern in poisson bursts jittered; do
        "$BIN/noiselab-analyze" equivalent "$BATS_TEST_TMPDIR/$pattern" --json >"$BATS_TEST_TMPDIR/json"
        [ "$(jq -r '.settings[0].pattern' "$BATS_TEST_TMPDIR/json")" = "$pattern" ]
        read -r _ arguments < <(jq -r '.settings[0].command | join(" ")' "$BATS_TEST_TMPDIR/json")
        "$BIN/noiselab-gen" $arguments --dry-run
    done
}
