#!/usr/bin/env bats
# Passwords among the words of a command: a campaign runs with them, and nothing that it leaves has them.

load run

# scraper: a command that keeps what it was given
scraper() {
    printf '#!/bin/sh\necho "$@" >>"%s/scraped"\n' "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/scraper"
    chmod 755 "$BATS_TEST_TMPDIR/scraper"
    echo "$BATS_TEST_TMPDIR/scraper -u user:geheim --token=geheim -H 'Authorization: Bearer geheim'" \
        http://u:geheim@host/
}

# run_secret ARGUMENTS
run_secret() { "$BIN/noiselab" run agent "$@" >"$BATS_TEST_TMPDIR/stdout" 2>"$ERR" 3>&-; }

holds_secret() { grep -rlF geheim "$@"; }

@test "passwords of a command are in no file but a private one, which goes with the answer" {
    sleep 120 3>&- &
    AGENT=$!
    umask 027
    "$BIN/noiselab" run agent --ranks 1 --op empty --agent-pid "$AGENT" --scrape "$(scraper)" \
        --scrape-period 50ms --agent-period 50ms --half-period 100ms --warmup 0s --seconds 120 \
        --launches 2 --margin 50 --out "$OUT" >"$BATS_TEST_TMPDIR/stdout" 2>"$ERR" 3>&- &
    shell=$!
    wait_for has_rows
    kill -TERM "$shell"
    wait "$shell" || true
    [ "$(holds_secret "$OUT" "$ERR" "$BATS_TEST_TMPDIR/stdout")" = "$OUT/schedule.private.tsv" ]
    [ "$(stat -c %a "$OUT/schedule.private.tsv")" = 600 ]
    [ "$(find "$OUT" -type f ! -name schedule.private.tsv ! -name 'agent.*.log' ! -perm 640)" = '' ]
    [ "$(find "$OUT" -type d ! -perm 750)" = '' ]
    grep -qF -- '-u ***' "$OUT/schedule.tsv"
    sed -i 's/\t--seconds\t[^\t]*/\t--seconds\t1/' "$OUT/schedule.private.tsv"
    ends '0|1|3' run_secret --resume "$OUT" --no-report
    [ "$(sort -u "$BATS_TEST_TMPDIR/scraped")" = \
        '-u user:geheim --token=geheim -H Authorization: Bearer geheim http://u:geheim@host/' ]
    [ -z "$(holds_secret "$OUT" "$ERR" "$BATS_TEST_TMPDIR/stdout")" ]
    jq -e '.command | any(contains("--token=***"))' "$OUT"/*/launch.json >/dev/null
    [ ! -e "$OUT/schedule.private.tsv" ]
    rm -r "$(find "$OUT" -mindepth 1 -maxdepth 1 -name '*-0002')"
    run_refused 'is gone: it can only be analysed' run_secret --resume "$OUT"
}

# bats test_tags=quick
@test "a batch script is shown without passwords, and where it has some nobody else may read it" {
    slurm_stub sinfo <<<"echo 'main* infinite 8'"
    slurm_stub sbatch <<<'echo 1'
    run_secret --submit --agent-cmd 'sleep 9 --password=geheim' --agent-period 1s --ranks 2 --out "$OUT"
    [ "$(holds_secret "$OUT" "$BATS_TEST_TMPDIR/stdout" "$ERR" | sort | paste -sd ,)" = \
        "$OUT/job.sbatch,$OUT/schedule.private.tsv" ]
    [ "$(stat -c %a "$OUT/job.sbatch")" = 600 ]
    rm -r "$OUT"
    run_secret --submit --time 30 --agent-cmd 'sleep 9 --password=geheim' --ranks 2 --out "$OUT"
    [ "$(holds_secret "$OUT" "$BATS_TEST_TMPDIR/stdout" "$ERR")" = "$OUT/job.sbatch" ]
    [ "$(stat -c %a "$OUT/job.sbatch")" = 600 ]
}

# bats test_tags=quick
@test "what is wrong with a command is said without its password, and an agent is called as its program" {
    ends 2 "$BIN/noiselab-agent" --agent-cmd 'nosuchprogram --password=geheim' 2>"$ERR"
    [ "$(grep -cF geheim "$ERR")" -eq 0 ]
    [ "$("$BIN/noiselab-agent" --shell --agent-cmd 'DB_PASS=geheim sleep 9' --json --dry-run 2>"$ERR" |
        jq -r .agent)" = sleep ]
}
