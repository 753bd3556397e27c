#!/usr/bin/env bats
# The report in a real browser. Needs R and Debian's chromium.

load ../helpers

BIN=${NOISELAB_BIN:?}

setup_file() {
    command -v chromium >/dev/null || leave_out 'chromium is not installed (tests/deps.sh report)'
    [ -z "$LEFT_OUT" ] || return 0
    export CAMPAIGNS=$BATS_FILE_TMPDIR R_LIBS=$NOISELAB_BUILD/lib/noiselab/R
    # what R would compile while it runs takes longer than it saves
    R_ENABLE_JIT=0 Rscript --vanilla - "$CAMPAIGNS" "$BATS_TEST_DIRNAME/../../analysis/tests/simulate.R" <<'R'
dir <- commandArgs(TRUE)[1]
source(commandArgs(TRUE)[2], chdir = TRUE)
simulate_campaign(file.path(dir, "demo"), operations = c("barrier", "allreduce", "alltoall"),
                  bytes = c(0, 2048, 2048),
    levels_percent = c(0, 0.01, 0.1, 1, 5),
                  pairs = 60, ranks = 2, seed = 1)
R
    "$BIN/noiselab-report" "$CAMPAIGNS/demo"
}

setup() { left_out_or_go; }

# browse OPTION... FILE: the page as the browser has made it, on stdout; what it had to say on
# $BATS_TEST_TMPDIR/console
browse() {
    chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
        --user-data-dir="$BATS_TEST_TMPDIR/profile" \
        --enable-logging=stderr --host-resolver-rules='MAP * ~NOTFOUND' --virtual-time-budget=5000 "$@" \
        2>"$BATS_TEST_TMPDIR/console"
}

# probe WIDTH HEIGHT: what report-probe.js has found in the report, as JSON. The report stands in a frame: a
# window cannot be as narrow as a phone.
probe() {
    local file=$CAMPAIGNS/demo/probed.html around=$BATS_TEST_TMPDIR/around.html width=$1 height=$2
    { cat "$CAMPAIGNS/demo/report.html" && echo '<script>' && cat "$BATS_TEST_DIRNAME/report-probe.js" &&
        echo '</script>'; } >"$file"
    cat >"$around" <<HTML
<!DOCTYPE html><html><body style="margin:0"><script>
addEventListener('message', function (e) { var p = document.createElement('pre'); p.id = 'told';
  p.textContent = btoa(unescape(encodeURIComponent(e.data)));
document.body.appendChild(p); });
</script><iframe src="file://$file" style="border:0;display:block"
    width="$width" height="$height"></iframe></body></html>
HTML
    browse --window-size="$((width + 100)),$((height + 200))" --allow-file-access-from-files \
        --dump-dom "file://$around" |
        sed -n 's/.*<pre id="told">\([^<]*\)<.*/\1/p' | base64 -d
}

# sound JSON: nothing wider than the page, cut, covered, empty or dead, and no word from the console
sound() {
    ! grep -E ':CONSOLE|Uncaught|Refused to' "$BATS_TEST_TMPDIR/console"
    jq . <<<"$1"
    jq -e '.wider_by <= 0 and .wider_by_open <= 0 and .overlaps == [] and .cut == [] and
        .empty_folds == [] and .dead_links == 0 and
        .without_words == 0 and .sentences == (.sections | length) - 1' <<<"$1"
}

@test "a laptop's first screen holds answer and picture, and all folds open without a word of the console" {
    found=$(probe 1400 900)
    sound "$found"
    jq -e '.answer_bottom < 900 and .picture_bottom < 900 and (.answer | test("operations are sensitive")) and
        .sections == ["answer", "slower", "cpu", "seen", "where", "trust", "again"] and .folds > 15 and
            .pictures >= 7' <<<"$found"
    jq -e '.sorts_up and .sorts_down and .filtered and .unfiltered' <<<"$found"
}

@test "the first screen of a phone holds the answer and the top of its picture" {
    found=$(probe 400 800)
    sound "$found"
    jq -e '.width == 400 and .answer_bottom < 800 and .picture_top < 700' <<<"$found"
}

@test "a dark screen gets a dark page" {
    # of the corner, which is nothing but page
    brightness() {
        browse --blink-settings=preferredColorScheme="$1" --window-size=1400,900 \
            --screenshot="$BATS_TEST_TMPDIR/page.png" "file://$CAMPAIGNS/demo/report.html"
        Rscript --vanilla \
            -e 'if (!requireNamespace("png", quietly = TRUE)) quit(status = 9)
                cat(mean(png::readPNG(commandArgs(TRUE))[5:50, 5:20, 1:3]))' "$BATS_TEST_TMPDIR/page.png"
    }
    dark=$(brightness 0) || { [ $? -ne 9 ] || skip 'the R package png is not installed'; }
    awk -v dark="$dark" 'BEGIN { exit !(dark < 0.3) }'
    [ "$NOISELAB_TESTS" != long ] || awk -v light="$(brightness 1)" 'BEGIN { exit !(light > 0.9) }'
}


@test "without scripts the page says and shows the same" {
    sed '/<script>/,/<\/script>/d' "$CAMPAIGNS/demo/report.html" >"$BATS_TEST_TMPDIR/plain.html"
    [ "$(grep -c '<section id=' "$BATS_TEST_TMPDIR/plain.html")" -eq 7 ]
    ! grep -q '<button' "$BATS_TEST_TMPDIR/plain.html" || false
    grep -q '<summary>All verdicts, by every channel</summary>' "$BATS_TEST_TMPDIR/plain.html"
}

@test "a report on paper has the answer on its first page" {
    command -v pdftotext >/dev/null || skip 'pdftotext is not installed'
    browse --print-to-pdf="$BATS_TEST_TMPDIR/report.pdf" \
        --no-pdf-header-footer "file://$CAMPAIGNS/demo/report.html"
    pdftotext -f 1 -l 1 "$BATS_TEST_TMPDIR/report.pdf" - | tr '\n' ' ' | grep -q 'operations are sensitive'
}
