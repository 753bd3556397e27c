#!/usr/bin/env bats
# noiselab run stability: what is refused, the order of its launches, and one short run.

load ../cli/detect

stability() { "$BIN/noiselab" run stability --out "$OUT" "$@" >"$BATS_TEST_TMPDIR/stdout" 2>"$ERR"; }

@test "what the experiment decides itself, and values that mean nothing, are refused" {
    run_refused "--levels: the levels are 0 and the one of --reference" stability --levels 0,5
    run_refused "--design: half-periods" stability --design blocks
    run_refused "--count: give the counts" stability --count 5
    run_refused "--reference: '0' is not a level" stability --reference 0
    run_refused "--reference: 'x' is not a level" stability --reference x
    run_refused "--launches: 'no' is not a positive whole number" stability --launches no
    run_refused "--seconds: '1.5' is not a positive whole number" stability --seconds 1.5
    run_refused "--ranks: '1,' has an empty part" stability --ranks 1,
    run_refused "--counts: '0' is not a positive whole number" stability --ranks 1 --counts 5,0
    run_refused "disturb each other" stability --ranks 5000
    run_refused "--op: 'nothing' is not an operation" stability --ranks 1 --op nothing
    run_refused "--seed: '1111111111111111111' has more than 18 digits" stability --seed 1111111111111111111
    [ ! -e "$OUT" ]
}

@test "the order of launches is that of the seed, and holds every configuration once" {
    order() {
        # the function alone, from the script
        bash -c "$(sed -n '/^shuffled() {/,/^}/p' "$BIN/../libexec/noiselab/lib.sh"); shuffled $1 1 \"\$(seq 8)\"; printf '%s\\n' \"\${shuffled[@]#* }\""
    }
    [ "$(order 5)" = "$(order 5)" ]
    [ "$(order 5 | sort -n)" = "$(seq 8)" ]
    [ "$(for seed in 1 2 3 4 5 6; do order "$seed" | head -n 1; done | sort -u | wc -l)" -gt 2 ]
}

@test "a short run measures every configuration, and ends with the table and an answer" {
    needs_cpus 2
    ends 3 stability --ranks 2 --op barrier --seconds 1 --counts 100000 --launches 1 --reference 5 --seed 7 --no-report
    # one launch cannot be called reproducible: no recommendation
    grep -q 'noiselab-run: 2 launches (2 configurations of ranks and counts, 1 times), about' "$ERR"
    [ "$(grep -c 'noiselab-run: launch [12] of 2: 2 rank' "$ERR")" -eq 2 ]
    [ "$(ls "$OUT"/*/halves.csv | wc -l)" -eq 1 ]
    [ "$(ls "$OUT"/*/blocks.csv | wc -l)" -eq 1 ]
    grep -q '"count": *100000' "$OUT"/*/launch.json
    [ "$(column operations "$(ls "$OUT"/*/blocks.csv)" | sort -u)" = 100000 ]
    grep -q '^No configuration is shown to be reproducible' "$BATS_TEST_TMPDIR/stdout"
    # the remark folds where it happens to
    tr -s ' \n' ' ' <"$BATS_TEST_TMPDIR/stdout" | grep -q 'reproducibility needs 3'
    grep -q 'x100000' "$BATS_TEST_TMPDIR/stdout"
}
