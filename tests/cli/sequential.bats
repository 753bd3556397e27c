#!/usr/bin/env bats
# Runs that may end at a planned look, and launches that have one arm.

load detect

# bats test_tags=quick
@test "looks that cannot be taken, options without looks, and arms and sets that cannot be are refused" {
    for option in "--margin 1" "--stop-when never:looks=3" "--stop-when never:spending=pocock" \
        "--stop-when never:alpha=0.05"; do
        refused "needs --stop-when decided" $option
    done
    refused "'sometimes' is not never or decided" --stop-when sometimes
    refused "design single has one loop per arm" --stop-when decided --design single --levels 1
    refused "without a level above 0" --stop-when decided --levels 0
    refused "without a level above 0" --stop-when decided --design blocks --levels none
    refused "20 looks do not fit into 2 rounds" --stop-when decided:looks=20 --seconds 0.5
    refused "'21' is not a whole number from 1 to 20" --stop-when decided:looks=21
    refused "'evenly' is not obrien-fleming or pocock" --stop-when decided:spending=evenly
    refused "--stop-when: alpha: '0.5'" --stop-when decided:alpha=0.5
    refused "--margin: '-1'" --stop-when decided --margin -1
    refused "'some' is not both, off or on" --arms some
    refused "--arms: design lockin compares off with on" --arms off
    refused "--arms: design blocks compares off with on" --arms on --design blocks
    refused "--arms: on needs a treatment" --arms on --design single
    refused "--arms: on needs a treatment" --arms on --design single --levels none
    refused "--arms: set: '0'" --arms on:set=0
    refused "--arms: set: '1.5'" --arms on:set=1.5
}

# bats test_tags=quick
@test "a dry run says after which rounds it will look" {
    run -0 "$DETECT" --dry-run --op empty --levels 1 --half-period 10ms --seconds 1 \
        --stop-when decided:looks=4 --margin 2
    [[ "$output" == *"looks after rounds 13, 25, 38, 50: the run ends when every slowdown is decided against \
2 %"* ]]
}

@test "a launch of one arm writes rows of it alone, and the number of its set" {
    launch 1 --op empty,barrier --design single --levels 0,5 --arms on:set=3 --seconds 0.2 --warmup 0s \
        --launch-id on
    launch 1 --op empty,barrier --design single --levels 0,5 --kind spin,sum --arms off:set=3 --seconds 0.2 \
        --warmup 0s --launch-id off
    [ "$(column arm "$OUT/on/blocks.csv" | sort | uniq -c | tr -s ' ')" = " 4 on" ]
    [ "$(column level_requested_percent "$OUT/on/blocks.csv" | sort -u | paste -sd ' ')" = "0 5" ]
    [ "$(column arm "$OUT/off/blocks.csv" | sort | uniq -c | tr -s ' ')" = " 2 off" ]
    jq -e '.options.arms == "on" and .options.set == 3 and .pairs_planned == 2 and .n_generators == 1' \
        "$OUT/on/launch.json"
    jq -e '.options.arms == "off" and .options.set == 3 and .options.levels_percent == [] and
        .n_generators == 0' "$OUT/off/launch.json"
}
