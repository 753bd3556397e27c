#!/usr/bin/env bats
# Programs that are followed, and a load whose effect is known: what a rank loses the program loses, where all
# its ranks meet all the time.

load ../cli/detect

setup() {
    at_home
    needs_cpus 2
}

# followed LEVELS SECONDS COMMAND...: into c; the verdicts are in verdicts.json
followed() {
    "$BIN/noiselab" run sensitivity --app --levels "$1" --seconds "$2" --no-report --out c -- "${@:3}" 3>&-
    "$BIN/noiselab" analyze --json c | jq '.verdicts' >verdicts.json
}

@test "20 % of a rank's CPU slow a loop of MPI_Allreduce down by some 25 %, and nothing by nothing" {
    end_when is_complete
    followed 0,20 8 "$MPIRUN_COMMAND" -n 2 "$BUILD/tests-mpi/loop_probe" "$PWD/end"
    judge jq -e '.[] | select(.level_requested_percent == 20 and .channel == "time") | .ci_low < 27 and
        .ci_high > 18 and .ci_low > 5' verdicts.json
    judge jq -e '.[] | select(.level_requested_percent == 20 and .channel == "preempted") | .ci_low < 22 and
        .ci_high > 16' verdicts.json
    judge jq -e '.[] | select(.level_requested_percent == 0 and .channel == "time") |
        .verdict != "detected"' verdicts.json
}

@test "LAMMPS, whose ranks meet point to point: a load is found, and its result is the same" {
    long_only
    needs lmp
    sed -e 's/block 0 10 0 10 0 10/block 0 20 0 20 0 20/' -e 's/^run.*/run 3500/' \
        /usr/share/lammps/examples/melt/in.melt >in.melt
    followed 30 16 "$MPIRUN_COMMAND" -n 2 lmp -in in.melt -log none -screen none
    jq -e '.follows | .beats_in_period > 1' c/*/launch.json
    judge jq -e '.[] | select(.level_requested_percent == 30 and .channel == "time") | .ci_low > 0 and
        .ci_high > 10' verdicts.json
}
