#!/usr/bin/env bats
# noiselab run on one machine without Slurm: the schedule of a campaign, going on with it, and what is
# refused.

load run

# what launches of a moment say is not asked: without R they are not answered
setup_file() {
    export WITH_R=$PATH
    PATH=$(path_without "$BATS_FILE_TMPDIR/path" Rscript)
    export PATH
}

# run_sensitivity ARGUMENTS: launches of one rank and a fraction of a second
run_sensitivity() {
    "$BIN/noiselab" run sensitivity --ranks 1 --op empty --levels none --design single --warmup 0s \
        --seconds 100ms --out "$OUT" --no-report "$@" \
        >"$BATS_TEST_TMPDIR/stdout" 2>"$ERR" 3>&-
}

# three_launches: complete ones in $OUT, made by the first test that needs them
three_launches() {
    local made=$BATS_FILE_TMPDIR/campaign
    [ -e "$made" ] || OUT=$made ERR=$BATS_FILE_TMPDIR/stderr run_sensitivity --launches 3 --seed 7 || true
    cp -a "$made" "$OUT"
}

resume() { "$BIN/noiselab" run sensitivity --resume "$OUT" "$@" >"$BATS_TEST_TMPDIR/stdout" 2>"$ERR" 3>&-; }

# run_refused_last WANTED COMMAND...: status 2, and WANTED in the last line on stderr
run_refused_last() {
    ends 2 "${@:2}"
    tail -n 1 "$ERR" | grep -qF -- "$1"
}

taken() { for file in "$OUT"/*/launch.json; do jq -r 'select(.ended == "complete") | .launch' "$file"; done; }

# an earlier attempt at a launch, as it is when its process was killed
cut_short() { sed -i 's/^  "ended": .*/  "ended": null,/' "$OUT/$1/launch.json"; }

@test "what only the analysis reads is asked of it before anything is measured, by every experiment" {
    local bad=$BATS_TEST_TMPDIR/bad experiment words text
    mkdir -p "$bad/one"
    printf 'ping <= soon\n' >"$bad/limits"
    printf 'rack\n' >"$bad/classes"
    printf 'launch,repetition\n' >"$bad/one/accept.csv"
    echo '{"program": "noiselab-accept", "schema": 99}' >"$bad/one/launch.json"
    local none='is not a percentage above 0 and below 100'
    while IFS='|' read -r experiment words text; do
        # shellcheck disable=SC2086 # words
        ends 2 env PATH="$WITH_R" "$BIN/noiselab" run "$experiment" --ranks 1 --seconds 1 \
            --out "$OUT" $words >"$BATS_TEST_TMPDIR/stdout" 2>"$ERR" 3>&-
        if [ "$(wc -l <"$ERR")" != 1 ] || ! grep -qF -- "$text" "$ERR"; then cat "$ERR" && false; fi
        [ ! -e "$OUT" ]
    done <<END
sensitivity|--op empty --margin 150|noiselab-analyze: --margin: '150' $none
agent|--op empty --agent-pid $$ --margin 100|noiselab-analyze: --margin: '100' $none
advise|--op barrier --margin 250.5|noiselab-analyze: --margin: '250.5' $none
acceptance|--margin 100%|noiselab-analyze: --margin: '100' $none
acceptance|--limits $bad/limits|noiselab-analyze: $bad/limits:1: 'ping <= soon' is not check
acceptance|--classes $bad/classes|noiselab-analyze: $bad/classes:1: 'rack' is not CLASS NODE
acceptance|--reference $bad|noiselab-analyze: $bad/one/launch.json
END
    # a word that is good, and one that nobody can judge here
    PATH=$WITH_R run_sensitivity --dry-run --margin 99
    run_sensitivity --dry-run --margin 150
    grep -qF "there is no R here: --margin 150 is checked when the campaign is analysed" "$ERR"
}

# bats test_tags=mpi
@test "the schedule has every launch with its words before the first one starts, and the launches are those" {
    three_launches
    [ "$(planned | wc -l)" -eq 3 ]
    [ "$(planned)" = "$(taken)" ]
    for line in 'schema: 1' 'experiment: sensitivity' 'seed: 7' 'launches: 3'; do
        grep -qx "# $line" "$OUT/schedule.tsv"
    done
    [ "$(jq -r .seed "$OUT"/*/launch.json | sort -u | paste -sd ' ' -)" = '7 8 9' ]
    [ ! -e "$OUT/claims" ]
    run_refused 'has a schedule already' run_sensitivity
}

@test "a campaign goes on with the launches that are not complete, and with no other" {
    three_launches
    second=$(planned | sed -n 2p)
    others=$(cksum "$OUT/$(planned | sed -n 1p)/blocks.csv" "$OUT/$(planned | sed -n 3p)/blocks.csv")
    # a second attempt that fails has a place of its own
    for n in 1 2; do
        cut_short "$second"
        resume || true
        grep -q '2 of 3 planned launches are complete' "$ERR"
        [ "$(grep -c ': launch ' "$ERR")" -eq 1 ]
        [ "$(ls "$OUT/partial" | wc -l)" -eq $n ]
    done
    [ "$(planned)" = "$(taken)" ]
    [ "$others" = "$(cksum "$OUT/$(planned | sed -n 1p)/blocks.csv" \
        "$OUT/$(planned | sed -n 3p)/blocks.csv")" ]
    [ "$(jq -r .ended "$OUT/partial/$second.1/launch.json")" = null ]
}

# bats test_tags=quick
@test "a campaign that an earlier version began goes on, with what it has not run" {
    for version in 1.0.0 1.1.0; do
        rm -rf "$OUT"
        cp -r "$BATS_TEST_DIRNAME/../kept/$version/campaign" "$OUT"
        cut_short "$(planned | tail -n 1)"
        resume --dry-run
        grep -qx 'noiselab-run: 1 of 2 planned launches are complete' "$ERR"
        run_refused "--only: '$OUT' has 2 tasks" resume --only 3
    done
}

# bats test_tags=quick
@test "names, seeds and words that would break the schedule, and jobs without Slurm, are refused" {
    tabbed() {
        "$BIN/noiselab" run agent --ranks 1 --op empty --agent-cmd $'sleep\t9' --agent-period 1s \
            --out "$OUT" 2>"$ERR" 3>&-
    }
    fails_with 2 'holds a tab or a line break' tabbed
    [ ! -e "$OUT/schedule.tsv" ]
    run_refused "--launch-id: 'claims' is taken" run_sensitivity --launch-id claims
    run_refused "--seed: '08' begins with a zero" run_sensitivity --seed 08
    [ ! -e "$OUT" ]
    # a launch of that name would count as the one that was asked for
    mkdir -p "$OUT/mine"
    run_refused "--launch-id: 'mine' is taken" run_sensitivity --launch-id mine
    local path
    path=$(path_without "$BATS_TEST_TMPDIR/path" Rscript sbatch srun sinfo squeue scontrol scancel salloc)
    no_slurm() { PATH=$path "$BIN/noiselab" run "$@" --out "$OUT" 2>"$ERR"; }
    run_refused 'there is no Slurm here' no_slurm sensitivity --submit --op barrier
    # only shown: the script is there, and what it could not check is said
    for words in 'sensitivity --array --launches 3 --nodes 2' 'agent --agent-cmd top --agent-period 1s' \
        'acceptance --nodes 2' 'stability --ranks 2'; do
        no_slurm $words --submit --dry-run >"$BATS_TEST_TMPDIR/script"
        bash -n "$BATS_TEST_TMPDIR/script"
        grep -qx '#SBATCH --time=.*' "$BATS_TEST_TMPDIR/script"
        grep -q '^noiselab-run: there is no Slurm here (sbatch is not in PATH): it was not checked that the '\
'partition is there' "$ERR"
        [ ! -e "$OUT/schedule.tsv" ]
    done
    run_refused 'there is no Slurm here' no_slurm agent
    run_refused '--partition: belongs to --submit' no_slurm sensitivity --partition main
    run_refused 'not a Slurm job' no_slurm sensitivity --launcher srun --op empty --design single \
        --levels none --seconds 1 --ranks 1
    run_refused 'needs a Slurm job' no_slurm sensitivity --node-sets 1
}

@test "root does not run what stands in a campaign of somebody else" {
    [ "$(id -u)" -eq 0 ] || skip 'only root can be somebody else'
    three_launches
    cut_short "$(planned | head -n 1)"
    chown 65534 "$OUT/schedule.tsv"
    run_refused_last 'belongs to another user' resume
    [ "$(taken | wc -l)" -eq 2 ]
}

@test "a launch that somebody runs is left alone, and one whose owner is gone is taken over" {
    three_launches
    cut_short "$(planned | head -n 1)"
    claim=$OUT/claims/$(planned | head -n 1)
    mkdir -p "$claim"
    owner="$(sed 's/.*) //' /proc/$$/stat | cut -d ' ' -f 20) - 0"
    echo "$(uname -n) $$ $owner" >"$claim/owner"
    run_refused_last '1 launch(es) are run by others' resume
    [ "$(taken | wc -l)" -eq 2 ]
    echo "$(uname -n) $$ 1 ${owner#* } $(cat /proc/sys/kernel/random/boot_id) $(readlink /proc/self/ns/pid)" \
        >"$claim/owner"
    resume || true
    [ "$(planned)" = "$(taken)" ]
    [ ! -e "$OUT/claims" ]
}

# submit ARGUMENTS: to a Slurm with the partitions main and short; sbatch numbers jobs from 1 and does not
# take those that answer
submit() {
    slurm_stub sinfo <<<"printf '%s\\n' 'main* infinite 8' 'short 30:00 4'"
    slurm_stub sbatch <<EOT
case "\$*" in *finish.sbatch) echo 'sbatch: error: Invalid account' >&2; exit 1 ;; esac
env | grep '^SBATCH_' >>"$BATS_TEST_TMPDIR/overruled"
echo 1
EOT
    "$BIN/noiselab" run sensitivity --submit --op empty --seconds 1 "$@" >"$BATS_TEST_TMPDIR/stdout" \
        2>"$ERR" 3>&-
}

# bats test_tags=quick
@test "a task of an array is a launch, or a set of launches that are compared, and a job answers" {
    submit --array --launches 3 --dry-run --out "$OUT" || true
    grep -q '^#SBATCH --array=1-3%1$' "$BATS_TEST_TMPDIR/stdout"
    submit --array --design launches --levels 1 --launches 2 --seconds 2 --dry-run --out "$OUT" || true
    grep -q '^#SBATCH --array=1-2%1$' "$BATS_TEST_TMPDIR/stdout"
    run_refused 'job 1 measures, but the job that answers was refused by sbatch: Invalid account' submit \
        --array --launches 2 --out "$OUT"
    grep -qF -- "--finish '$OUT'" "$ERR"
    [ "$(planned | wc -l)" -eq 2 ]
    [ -s "$OUT/job.sbatch" ]
}

@test "the launches of one set are run by one task, and no others" {
    three_launches
    rm -r "$OUT"/2*
    # as if the second and the third belonged to one set
    awk -F '\t' -v OFS='\t' '/^#/ || $1 == "launch" { print; next } { n++; $2 = n > 1 ? 7 : 4 } 1' \
        "$OUT/schedule.tsv" >"$BATS_TEST_TMPDIR/sets"
    cp "$BATS_TEST_TMPDIR/sets" "$OUT/schedule.tsv"
    resume --only 2
    [ "$(taken)" = "$(planned | tail -n +2)" ]
    run_refused "--only: '$OUT' has 2 tasks" resume --only 3
    resume --only 1
    [ "$(taken)" = "$(planned)" ]
}

# bats test_tags=quick
@test "the script that is shown counts, not what the environment tells sbatch" {
    export SBATCH_TIMELIMIT=1 SBATCH_WAIT=1 SBATCH_PARTITION=nosuch SBATCH_ACCOUNT=physics
    submit --partition short --out "$OUT" || true
    [ "$(cat "$BATS_TEST_TMPDIR/overruled")" = SBATCH_ACCOUNT=physics ]
    # where the environment alone says it, the plan has to fit there
    run_refused "'nosuch' is not a partition here" submit --out "$OUT.2"
}

# bats test_tags=quick
@test "who stops waiting for a job leaves nothing that waits, and is told which job goes on" {
    slurm_stub sinfo <<<"echo 'main* infinite 8'"
    slurm_stub sbatch <<EOT
echo 7
echo \$\$ >"$BATS_TEST_TMPDIR/waits"
exec sleep 600
EOT
    "$BIN/noiselab" run sensitivity --submit --wait --op empty --seconds 1 --out "$OUT" >/dev/null 2>"$ERR" \
        3>&- &
    wait_for test -s "$BATS_TEST_TMPDIR/waits"
    kill -TERM $!
    ends 2 wait $!
    grep -qx 'noiselab-run: interrupted; job 7 goes on' "$ERR"
    wait_for is_gone "$(cat "$BATS_TEST_TMPDIR/waits")"
}

# bats test_tags=quick
@test "options for sbatch may be short ones, and the job that answers goes where the launches went" {
    submit --array --launches 2 --partition short --sbatch '-C haswell' --sbatch '-S 1' --sbatch 'comment=x' \
        --out "$OUT" || true
    for line in '-C haswell' '-S 1' --comment=x --partition=short; do
        grep -qxF -- "#SBATCH $line" "$OUT/job.sbatch"
    done
    for line in '-C haswell' --partition=short; do grep -qxF -- "#SBATCH $line" "$OUT/finish.sbatch"; done
    resume --submit --array --dry-run
    [ "$(grep -cxF -- '#SBATCH --partition=short' "$BATS_TEST_TMPDIR/stdout")" -eq 2 ]
    [ "$(grep -cxF -- '#SBATCH -C haswell' "$BATS_TEST_TMPDIR/stdout")" -eq 2 ]
}

@test "a launch planned on nodes of a job is not looked for elsewhere" {
    submit --node-sets 'node1;node2' --out "$OUT" || true
    run_refused_last 'nodes of a Slurm job, and this is none' resume
    [ ! -e "$OUT/claims" ]
}

@test "a launch that is not complete counts as such when its launcher ends well" {
    # a launcher that loses its ranks and says nothing
    slurm_stub losing-mpirun <<'EOT'
case $1 in --version) exec mpirun --version ;; esac
while [ "${1##*/}" != noiselab-detect ]; do shift; done
"$@" &
sleep 1
kill -9 $!
EOT
    export NOISELAB_MPIRUN=losing-mpirun
    run_refused_last 'is not complete' run_sensitivity --seconds 20
    run_refused_last 'is not complete' resume --only 1
}

@test "many that go on at once take each launch once" {
    three_launches
    for launch in $(planned); do rm -r "${OUT:?}/$launch"; done
    for i in 1 2 3; do ERR=$BATS_TEST_TMPDIR/err-$i resume & done
    wait
    [ "$(planned)" = "$(taken)" ]
    [ ! -e "$OUT/partial" ]
    [ "$(cat "$BATS_TEST_TMPDIR"/err-* | grep -c ': launch [0-9]')" -eq 3 ]
}

first_is_taken() { [ -s "$(echo "$OUT"/*-0001/launch.json)" ]; }

@test "a TERM ends the launch with its rows, and the campaign goes on from there" {
    run_sensitivity --launches 2 --seconds 20 &
    shell=$!
    wait_for first_is_taken
    kill -TERM "$(pgrep -f "noiselab_run/.* sensitivity .*--out $OUT" | head -n 1)"
    wait "$shell" || true
    grep -q 'noiselab-run: interrupted; .*--resume' "$ERR"
    [ "$(jq -r .ended "$OUT"/*-0001/launch.json)" = interrupted ]
    [ "$(ls -d "$OUT"/*-000*/ | wc -l)" -eq 1 ]
    [ ! -e "$OUT/claims" ]
}

@test "what a campaign was planned with cannot be changed, and what has no schedule cannot go on" {
    three_launches
    run_refused '--seconds: a campaign goes on as it was planned' resume --seconds 5
    run_refused '--kind: a campaign goes on as it was planned' resume --kind spin
    other() { "$BIN/noiselab" run stability --resume "$OUT" 2>"$ERR"; }
    run_refused "is of the experiment 'sensitivity': noiselab run sensitivity --resume" other
    printf 'a\tb\n' >>"$OUT/schedule.tsv"
    run_refused "schedule.tsv', line 18: not a launch of its own" resume
    sed -i 's/^# schema: 1/# schema: 2/' "$OUT/schedule.tsv"
    run_refused "schema '2' is not known here" resume
    rm "$OUT/schedule.tsv"
    run_refused 'has no schedule.tsv' resume
    rm -r "$OUT"
    run_refused 'is not a folder' resume
}

@test "a folder that cannot be written is refused, and a disk that gets full keeps what was taken" {
    [ "$(id -u)" = 0 ] || skip 'only root can make a small file system'
    OUT=$BATS_TEST_TMPDIR/small
    mkdir "$OUT"
    mount -t tmpfs -o size=120k none "$OUT"
    status=0
    run_sensitivity --out "$OUT/c" --starts window:raw=starts.bin --seconds 1s --launches 2 || status=$?
    umount "$OUT"
    [ "$status" -eq 2 ]
    grep -q '^noiselab-run: .*go on with: noiselab run sensitivity --resume' "$ERR"
    mount -t tmpfs -o ro none "$OUT"
    run_refused 'Read-only file system' run_sensitivity --out "$OUT/c"
    umount "$OUT"
}

# rehearsed OPTION...: what the plan says is in $ERR
rehearsed() {
    "$BIN/noiselab" run sensitivity --dry-run --ranks 1 --op barrier \
        --out "$OUT" "$@" >"$BATS_TEST_TMPDIR/stdout" 2>"$ERR"
}

@test "before the first launch the plan says what it takes and how small a slowdown can be seen" {
    assumed() {
        PATH=$WITH_R "$BIN/noiselab" plan --detect 1 --op barrier --levels 1 --json "$@" |
            sed -n 's/.*"sd": \([0-9.]*\),/\1/p' | awk '{ printf "%.2g\n", $1 }'
    }
    rehearsed --levels 0,1 --seconds 16
    # 400 pairs: (2.326 + 1.645) * 4 % / sqrt(400)
    grep -q 'plan: 1 launch, total .* 16 s of measuring, .* for the answer' "$ERR"
    grep -q 'plan: 400 pairs of 10 ms .*a slowdown of 0.79 % can be seen' "$ERR"
    # the assumption is that of noiselab plan
    for half in 1ms 2s; do
        rehearsed --levels 0,1 --half-period "$half" --seconds 100
        [ "$(sed -n 's/.*pairs scatter by \(.*\) %)/\1/p' "$ERR")" = "$(assumed --half-period "$half")" ]
    done
    # the pairs of all launches, and fewer are seen by means where bursts vary
    rehearsed --levels 0,1 --seconds 4 --launches 4
    grep -q 'plan: 4 launches, total .* 16 s of measuring' "$ERR"
    grep -q 'plan: 400 pairs of 10 ms .* 0.79 %' "$ERR"
    rehearsed --levels 0,1 --seconds 16 --pattern poisson
    grep -q 'pairs scatter by 7.1 %' "$ERR"
    rehearsed --levels 0,1 --seconds 0.2
    grep -q '5 pairs .*: too few, a test at alpha 0.01 needs 7; --seconds 0.3 would do' "$ERR"
    rehearsed --levels 0,1 --seconds 0.3
    grep -q '7 pairs .* can be seen' "$ERR"
    demo=$(make -n -C "$BATS_TEST_DIRNAME/../.." demo |
        sed -n 's/.*noiselab run sensitivity \(.*\) --out .*/\1/p')
    "$BIN/noiselab" run sensitivity $demo --dry-run --ranks 1 --out "$OUT" >/dev/null 2>"$ERR"
    limit=$(sed -n 's/.*a slowdown of \([0-9.]*\) % can be seen.*/\1/p' "$ERR")
    awk -v limit="$limit" 'BEGIN { exit !(limit > 0.1 && limit < 1) }'
    case $demo in *--levels\ 0,0.01,0.1,1,5\ *) ;; *) false ;; esac
    grep -q 'total 2 min' "$ERR"
}

# bats test_tags=quick
@test "what others say is printed without what a terminal would obey" {
    slurm_stub mpirun <<<'printf "Open MPI \033]0;owned\007 cannot\n" >&2; exit 1'
    ends 2 "$BIN/noiselab" run sensitivity --hosts a,b --out "$OUT" 2>"$ERR"
    grep -qF 'Open MPI ?]0;owned? cannot' "$ERR"
}

# bats test_tags=quick
@test "a batch script may set what it likes: nothing of it is evaluated when it is filled in" {
    slurm_stub sinfo <<<"echo 'main* infinite 8'"
    slurm_stub sbatch <<<'echo 1'
    "$BIN/noiselab" run sensitivity --submit --op empty --ranks 2 --out "$OUT" >/dev/null 2>"$ERR"
    local evaluated="a-b=\$(touch $BATS_TEST_TMPDIR/evaluated)  # b"
    sed -i "s|^# --- parameters ---.*|&\nPATH=x  # a\n$evaluated\ntab=y  # c|" "$OUT/job.sbatch"
    "$BIN/noiselab" run sensitivity --submit --resume "$OUT" --dry-run >"$BATS_TEST_TMPDIR/stdout" 2>"$ERR"
    [ "$(grep -ci substitution "$ERR")" -eq 0 ]
    [ ! -e "$BATS_TEST_TMPDIR/evaluated" ]
    grep -q '^tab=y  # c' "$BATS_TEST_TMPDIR/stdout"
}
