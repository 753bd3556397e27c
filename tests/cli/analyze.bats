#!/usr/bin/env bats
# noiselab analyze and compare as a person or a program meets them: a screen, colours, and a table with a
# schema.

load detect

setup_file() {
    export A=$BATS_FILE_TMPDIR/a B=$BATS_FILE_TMPDIR/b
    # what R would compile while it runs takes longer than it saves
    R_ENABLE_JIT=0 R_LIBS="$BATS_TEST_DIRNAME/../../${NOISELAB_BUILD:-build}/lib/noiselab/R" Rscript \
        --vanilla -e '
        source(commandArgs(TRUE)[3], chdir = TRUE)
        for (i in 1:2) {
          simulate_campaign(commandArgs(TRUE)[i], operations = c("barrier", "allreduce"),
              levels_percent = c(0, 1, 5),
              pairs = 30, launches = 3,
                            seed = i, prefix = letters[i], operation_ns = 1800 + 200 * i)
        }' "$A" "$B" "$BATS_TEST_DIRNAME/../../analysis/tests/simulate.R"
}

# on_screen FILE: at most 24 lines of at most 100 characters
on_screen() {
    [ "$(wc -l <"$1")" -le 24 ]
    [ "$(LC_ALL=C.UTF-8 awk 'length($0) > n { n = length($0) } END { print n + 0 }' "$1")" -le 100 ]
}

@test "the answer fits a screen, in Unicode and in ASCII, and says how to get the rest" {
    cd "$BATS_FILE_TMPDIR"
    for locale in C.UTF-8 C; do
        TERM=xterm LC_ALL=$locale "$BIN/noiselab" analyze a >"$BATS_TEST_TMPDIR/$locale"
        on_screen "$BATS_TEST_TMPDIR/$locale"
        grep -q 'all tables.*: noiselab analyze --all a$' "$BATS_TEST_TMPDIR/$locale"
    done
    grep -q '●' "$BATS_TEST_TMPDIR/C.UTF-8"
    # nor a colour: this is no terminal
    ! LC_ALL=C grep -q '[^ -~]' "$BATS_TEST_TMPDIR/C" || false
    "$BIN/noiselab" compare a b >"$BATS_TEST_TMPDIR/compare"
    on_screen "$BATS_TEST_TMPDIR/compare"
    grep -q 'noiselab compare --all a b$' "$BATS_TEST_TMPDIR/compare"
}

@test "colours are for a terminal that has them, and for who wants them" {
    command -v script >/dev/null || skip 'script (util-linux) is not installed'
    local kept=$BATS_TEST_DIRNAME/../kept/1.0.0/campaign
    said() { script -qec "$1 '$BIN/noiselab-analyze' '$kept'" /dev/null </dev/null; }
    said 'env -u NO_COLOR TERM=xterm' | grep -q "$(printf '\033')\[1m"
    ! said 'env NO_COLOR=1 TERM=xterm' | grep -q "$(printf '\033')"
}

@test "what --json prints is of the schema, in every analysis that has estimates" {
    python3 -c 'import jsonschema' 2>/dev/null ||
        skip 'python3-jsonschema is not installed (tests/deps.sh agents)'
    mkdir "$BATS_TEST_TMPDIR/json"
    "$BIN/noiselab-analyze" "$A" --json --margin 1% >"$BATS_TEST_TMPDIR/json/verdicts" || [ $? -eq 1 ] ||
        [ $? -eq 3 ]
    "$BIN/noiselab-compare" "$A" "$B" --json >"$BATS_TEST_TMPDIR/json/compare"
    python3 - "$BATS_TEST_DIRNAME/../../analysis/inst/schema/analysis.json" \
        "$BATS_TEST_TMPDIR"/json/* <<'PYTHON'
import json, sys
import jsonschema
schema = json.load(open(sys.argv[1]))
check = jsonschema.Draft7Validator(schema)
jsonschema.Draft7Validator.check_schema(schema)
for name in sys.argv[2:]:
    document = json.load(open(name))
    errors = [f"{name}: {list(e.path)}: {e.message}" for e in check.iter_errors(document)]
    assert not errors, errors[:5]
    assert len(document["estimates"]) > 2, name
# a validator that takes anything says nothing
broken = json.load(open(sys.argv[2]))
broken["estimates"][0]["verdict"] = "maybe"
assert list(check.iter_errors(broken))
PYTHON
}

# bats test_tags=mpi
@test "a campaign that a released version wrote is read, with the answer that it had" {
    needs Rscript
    local schedule campaign answer n=0
    for schedule in "$BATS_TEST_DIRNAME"/../kept/*/*/schedule.tsv; do
        campaign=${schedule%/schedule.tsv}
        answer=${campaign/%campaign/answer}.tsv
        "$BIN/noiselab-analyze" "$campaign" --json |
            jq -r '.estimates[] | select(.value != null and .verdict != null) |
            [.quantity, .operation, .level_requested_percent, .n, .verdict, (.value * 1e4 | round / 1e4)] |
            @tsv' | sort >"$BATS_TEST_TMPDIR/answer"
        diff "$answer" "$BATS_TEST_TMPDIR/answer"
        n=$((n + $(wc -l <"$answer")))
    done
    # 44 of 1.0.0, and as many and 7 of an agent of 1.1.0
    [ "$n" -ge 95 ]
}

@test "no key of JSON is gone that a version 1.x promised" {
    needs Rscript
    sh "$BATS_TEST_DIRNAME/../kept/names.sh" --json "${BIN%/bin}" >"$BATS_TEST_TMPDIR/keys"
    [ "$(cut -d : -f 1 "$BATS_TEST_TMPDIR/keys" | uniq | wc -l)" -ge 5 ]
    # where one is meant to go: tests/kept/names.sh --by-key build >tests/kept/keys.tsv
    sh "$BATS_TEST_DIRNAME/../kept/names.sh" --kept >"$BATS_TEST_TMPDIR/kept"
    [ -z "$(LC_ALL=C comm -23 "$BATS_TEST_TMPDIR/kept" "$BATS_TEST_TMPDIR/keys" | tee /dev/stderr)" ]
}

@test "whoever reads the answer may stop, and that is no bug" {
    { "$BIN/noiselab-analyze" --help 2>"$ERR" || echo $? >"$BATS_TEST_TMPDIR/status"; } | true
    [ ! -s "$ERR" ]
    [ "$(cat "$BATS_TEST_TMPDIR/status")" = 141 ]
}

# of other patterns: r/test-equivalent
@test "the setting that is like each recorded preset has its period, and noiselab-gen takes it" {
    cd "$BATS_TEST_DIRNAME/../../noisegen/presets"
    "$BIN/noiselab-analyze" equivalent collectd-1s.trace collectd.trace node_exporter.trace sadc.trace \
        slurm-accounting.trace --json \
        >"$BATS_TEST_TMPDIR/json"
    jq -r '.settings[].command | join(" ")' "$BATS_TEST_TMPDIR/json" >"$BATS_TEST_TMPDIR/commands"
    # bursts of one length are not like those of an agent, whose lengths differ; their period is
    [ "$(jq -r '.settings[].goodness' "$BATS_TEST_TMPDIR/json" | sort -u)" = fair ]
    jq -e '[.settings[] | .far_share < 0.2] | all' "$BATS_TEST_TMPDIR/json"
    [ "$(sed 's/.*--level \([^ ]*\) --period \([^ ]*\) .*/\1 \2/' "$BATS_TEST_TMPDIR/commands" |
        paste -sd ';' -)" = \
        '0.0629 1s;0.00635 10s;1.07 1s;0.0628 1s;0.115 1s' ]
    while read -r program arguments; do
        [ "$program" = noiselab-gen ]
        "$BIN/noiselab-gen" $arguments --dry-run </dev/null
    done <"$BATS_TEST_TMPDIR/commands"
}

# bats test_tags=quick
@test "what a user has R attach, or not, is nothing to the front ends" {
    cd "$BATS_TEST_TMPDIR"
    printf '%s\t%s\t0\n' 0 1000 5000000 2000 9000000 1000 12000000 1500 15000000 1700 >a.trace
    "$BIN/noiselab-analyze" equivalent a.trace >usual
    for packages in NULL base methods; do
        R_DEFAULT_PACKAGES=$packages R_SCRIPT_DEFAULT_PACKAGES=$packages "$BIN/noiselab-analyze" equivalent \
            a.trace >"$packages"
        cmp usual "$packages"
    done
    R_DEFAULT_PACKAGES=NULL "$BIN/noiselab-plot" power "$A" --out power.png
    [ -s power.png ]
}
