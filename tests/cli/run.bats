#!/usr/bin/env bats
# noiselab run on one machine without Slurm: the schedule of a campaign, going on with it, and what is refused.

load detect

# run_sensitivity ARGUMENTS: launches of one rank and half a second
run_sensitivity() {
    "$BIN/noiselab" run sensitivity --ranks 1 --op empty --levels none --design single --seconds 300ms --out "$OUT" --no-report "$@" \
        >"$BATS_TEST_TMPDIR/stdout" 2>"$ERR" 3>&-
}

resume() { "$BIN/noiselab" run sensitivity --resume "$OUT" "$@" >"$BATS_TEST_TMPDIR/stdout" 2>"$ERR" 3>&-; }

# run_refused WANTED COMMAND...: status 2, and one line on stderr that holds WANTED
run_refused() {
    local wanted=$1 status=0
    shift
    "$@" || status=$?
    cat "$ERR"
    [ "$status" -eq 2 ]
    [ "$(wc -l <"$ERR")" -eq 1 ]
    grep -qF -- "$wanted" "$ERR"
}

planned() { sed '1,/^launch\t/d' "$OUT/schedule.tsv" | cut -f 1; }

taken() { for file in "$OUT"/*/launch.json; do jq -r 'select(.ended == "complete") | .launch' "$file"; done; }

# an earlier attempt at a launch, as it is when its process was killed
cut_short() {
    sed -i 's/^  "ended": .*/  "ended": null,/' "$OUT/$1/launch.json"
}

@test "the schedule has every launch with its words before the first one starts, and the launches are those" {
    run_sensitivity --launches 3 --seed 7 || true
    cat "$ERR"
    [ "$(planned | wc -l)" -eq 3 ]
    [ "$(planned)" = "$(taken)" ]
    grep -qx '# schema: 1' "$OUT/schedule.tsv"
    grep -qx '# experiment: sensitivity' "$OUT/schedule.tsv"
    grep -qx '# seed: 7' "$OUT/schedule.tsv"
    grep -qx '# launches: 3' "$OUT/schedule.tsv"
    # the seed is counted on, and the launches have it
    [ "$(jq -r .seed "$OUT"/*/launch.json | sort -u | paste -sd ' ' -)" = '7 8 9' ]
    [ ! -e "$OUT/claims" ]
    run_refused 'has a schedule already' run_sensitivity
}

@test "a campaign goes on with the launches that are not complete, and with no other" {
    run_sensitivity --launches 3 || true
    second=$(planned | sed -n 2p)
    cut_short "$second"
    others=$(cksum "$OUT/$(planned | sed -n 1p)/blocks.csv" "$OUT/$(planned | sed -n 3p)/blocks.csv")
    resume || true
    cat "$ERR"
    grep -q '2 of 3 planned launches are complete' "$ERR"
    [ "$(grep -c ': launch ' "$ERR")" -eq 1 ]
    [ "$(planned)" = "$(taken)" ]
    [ "$others" = "$(cksum "$OUT/$(planned | sed -n 1p)/blocks.csv" "$OUT/$(planned | sed -n 3p)/blocks.csv")" ]
    [ "$(jq -r .ended "$OUT/partial/$second.1/launch.json")" = null ]
    # a second attempt that fails has a place of its own
    cut_short "$second"
    resume || true
    [ "$(ls "$OUT/partial" | wc -l)" -eq 2 ]
    resume || true
    [ "$(grep -c ': launch ' "$ERR")" -eq 0 ]
}

@test "a launch that somebody runs is left alone, and one whose owner is gone is taken over" {
    run_sensitivity --launches 2 || true
    cut_short "$(planned | head -n 1)"
    mkdir -p "$OUT/claims/$(planned | head -n 1)"
    # this test is alive
    echo "$(uname -n) $$ $(sed 's/.*) //' /proc/$$/stat | cut -d ' ' -f 20) - 0" >"$OUT/claims/$(planned | head -n 1)/owner"
    status=0
    resume || status=$?
    cat "$ERR"
    [ "$status" -eq 2 ]
    tail -n 1 "$ERR" | grep -q '1 launch(es) are run by others'
    [ "$(taken | wc -l)" -eq 1 ]
    # a process with that number that started at another time is another one
    echo "$(uname -n) $$ 1 - 0" >"$OUT/claims/$(planned | head -n 1)/owner"
    resume || true
    cat "$ERR"
    [ "$(planned)" = "$(taken)" ]
    [ ! -e "$OUT/claims" ]
}

@test "many that go on at once take each launch once" {
    run_sensitivity --launches 4 || true
    for launch in $(planned); do rm -r "${OUT:?}/$launch"; done
    for i in 1 2 3; do
        "$BIN/noiselab" run sensitivity --resume "$OUT" >/dev/null 2>"$BATS_TEST_TMPDIR/err-$i" 3>&- &
    done
    wait
    cat "$BATS_TEST_TMPDIR"/err-*
    [ "$(planned)" = "$(taken)" ]
    [ ! -e "$OUT/partial" ]
    [ "$(cat "$BATS_TEST_TMPDIR"/err-* | grep -c ': launch [0-9]')" -eq 4 ]
}

@test "a TERM ends the launch with its rows, and the campaign goes on from there" {
    run_sensitivity --launches 2 --seconds 20 &
    shell=$!
    wait_for test -s "$OUT"/*-0001/blocks.csv || wait_for test -s "$OUT/$(planned | head -n 1)/launch.json"
    sleep 1
    kill -TERM "$(pgrep -f "sensitivity.sh .*--out $OUT" | head -n 1)"
    wait "$shell" || true
    cat "$ERR"
    grep -q 'noiselab-run: interrupted; .*--resume' "$ERR"
    [ "$(jq -r .ended "$OUT"/*-0001/launch.json)" = interrupted ]
    [ "$(ls -d "$OUT"/*-000*/ | wc -l)" -eq 1 ]
    [ ! -e "$OUT/claims" ]
}

@test "what a campaign was planned with cannot be changed, and what has no schedule cannot go on" {
    run_sensitivity --launches 1 || true
    run_refused '--seconds: a campaign goes on as it was planned' resume --seconds 5
    run_refused '--kind: a campaign goes on as it was planned' resume --kind spin
    other() { "$BIN/noiselab" run stability --resume "$OUT" 2>"$ERR"; }
    run_refused "is of the experiment 'sensitivity': noiselab run sensitivity --resume" other
    printf 'a\tb\n' >>"$OUT/schedule.tsv"
    run_refused "schedule.tsv', line 16: not a launch of its own" resume
    sed -i 's/^# schema: 1/# schema: 2/' "$OUT/schedule.tsv"
    run_refused "schema '2' is not known here" resume
    rm "$OUT/schedule.tsv"
    run_refused 'has no schedule.tsv' resume
    rm -r "$OUT"
    run_refused 'is not a folder' resume
}

@test "without Slurm a job is refused in one line" {
    # a PATH with all that is needed but Slurm's commands
    mkdir "$BATS_TEST_TMPDIR/path"
    local name
    for name in sh awk sed grep od tr date dirname readlink cat printf mktemp rm paste wc cut head sort uname id; do
        ln -s "$(command -v "$name")" "$BATS_TEST_TMPDIR/path/$name" 2>/dev/null || true
    done
    no_slurm() { PATH=$BATS_TEST_TMPDIR/path "$BIN/noiselab" run "$@" --out "$OUT" 2>"$ERR"; }
    run_refused 'there is no Slurm here' no_slurm sensitivity --submit --op barrier
    run_refused 'there is no Slurm here' no_slurm agent
    run_refused '--partition: belongs to --submit' no_slurm sensitivity --partition main
    run_refused 'not a Slurm job' no_slurm sensitivity --launcher srun --op empty --design single --levels none --seconds 1 --ranks 1
    run_refused 'need a Slurm job' no_slurm sensitivity --nodes-per-launch 1
    [ ! -e "$OUT" ]
}

@test "a folder that cannot be written is refused, and a disk that gets full keeps what was taken" {
    [ "$(id -u)" = 0 ] || skip 'only root can make a small file system'
    OUT=$BATS_TEST_TMPDIR/small
    mkdir "$OUT"
    mount -t tmpfs -o size=600k none "$OUT"
    status=0
    run_sensitivity --out "$OUT/c" --start window --raw starts.bin --seconds 5s --launches 2 || status=$?
    ls -la "$OUT/c"
    df "$OUT"
    umount "$OUT"
    cat "$ERR"
    [ "$status" -eq 2 ]
    grep -q '^noiselab-run: .*go on with: noiselab run sensitivity --resume' "$ERR"
    mount -t tmpfs -o ro none "$OUT"
    run_refused 'Read-only file system' run_sensitivity --out "$OUT/c"
    umount "$OUT"
}
