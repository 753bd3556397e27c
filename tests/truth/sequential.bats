#!/usr/bin/env bats
# Runs that end at a planned look: what the detector computed while it ran is what R computes from the rows,
# and the verdict is that of the run.

load ../cli/detect

# looks_agree DIR...: every number of every look, as R has it from the rows
looks_agree() {
    R_LIBS="$BATS_TEST_DIRNAME/../../${NOISELAB_BUILD:-build}/lib/noiselab/R" Rscript --vanilla -e '
        attach(asNamespace("noiselab"), name = "parts of noiselab", warn.conflicts = FALSE)
        source(commandArgs(TRUE)[1], chdir = TRUE)
        for (dir in commandArgs(TRUE)[-1]) {
          campaign <- read_campaign(dir)
          looks <- check_sequential(campaign, tolerance = 1e-9)
          print(looks[c("look", "operation", "level_percent", "n", "low_percent", "high_percent",
              "decision", "difference", "reason")])
          plan <- campaign$launches[[1]]$sequential
          p <- vapply(plan$looks, `[[`, 0, "nominal_p")
          stopifnot(nrow(looks) > 0, looks$agrees)
          if (identical(campaign$launches[[1]]$ended, "complete"))
              stopifnot(launch_alpha(campaign$launches[[1]]) == p[length(p)])
        }' "$BATS_TEST_DIRNAME/../../analysis/tests/simulate.R" "$@"
}

# ended_with_look ARMS: where the clock left no rounds out, rows are those of the rounds up to the last look,
# level 0 is not judged, and the run went on only while something was open
ended_with_look() {
    judge has_look
    judge jq -e --argjson arms "$1" \
        '.ended == "complete" and
        .rows == .sequential.looks[-1].rounds * .pairs_planned / .sequential.rounds_planned * $arms and
        (.sequential | ([.looks[].cells[].level_percent] | all(. > 0)) and
            (.looks[:-1] | all([.cells[].decision] | any(. == "open"))) and
            .decided == (.looks[-1] | [.cells[].decision] | all(. != "open")) and
                (.decided or (.looks | length) == .looks_planned))' "$OUT/one/launch.json"
    looks_agree "$OUT"
}

@test "the looks of a lockin run of two operations agree with its rows" {
    launch 2 --op barrier,alltoall --levels 0,1,10 --seconds 1.5 --warmup 0s --seed 11 --stop-when decided \
        --margin 2 --launch-id one
    ended_with_look 2
}

@test "the looks of a run of blocks with synchronised starts agree with its rows" {
    launch 2 --op barrier --design blocks --block 20ms --levels 0,10,30 --starts round --seconds 1.5 \
        --warmup 0s --stop-when decided:looks=7,spending=pocock,alpha=0.05 --margin 1 \
        --launch-id one
    ended_with_look 4
}

@test "a run that is interrupted, or killed, keeps the looks it had, and is no decision" {
    # an effect that is not there is not found: the run would last its 12 s
    background --levels 0.001 --seconds 12 --stop-when decided:looks=20,alpha=0.000001
    wait_for has_look
    # what is on disk at any moment is what a kill -9 would leave
    cp -a "$OUT" "$BATS_TEST_TMPDIR/killed"
    kill -TERM $(ranks_of "$MPIRUN")
    wait "$MPIRUN" || true
    [ "$(jq -r .ended "$OUT/one/launch.json")" = interrupted ]
    jq -e '.sequential | (.looks | length) >= 1 and (.looks | length) < 20 and (.decided | not)' \
        "$OUT/one/launch.json"
    jq -e '.ended == null and (.sequential.looks | length) >= 1' "$BATS_TEST_TMPDIR/killed/one/launch.json"
    looks_agree "$OUT" "$BATS_TEST_TMPDIR/killed"
}

has_look() { jq -e '.sequential.looks | length > 0' "$OUT/one/launch.json" >/dev/null 2>&1; }
