# What the tests of clock synchronisation share: a probe that says what was found, and what the truth is.

load ../helpers
load ../mpirun

PROBE="$BATS_TEST_DIRNAME/../../${NOISELAB_BUILD:-build}/tests-mpi/sync_probe"

setup() {
    # on one, a round trip takes the time slices of ranks that wait
    needs_cpus 2
    ROWS="$BATS_TEST_TMPDIR/rows" ERR="$BATS_TEST_TMPDIR/stderr"
}

# probe RANKS OPTION...: on this machine, into $ROWS
probe() { on_cores "$1" "$PROBE" "${@:2}" >"$ROWS" 2>"$ERR"; }

# all CONDITION: holds for every rank but 0. Columns have their names, e(x) is |x|.
all() {
    local condition=${1//$'\n'/ }
    awk -F , -v n=0 '
        function e(x) { return x < 0 ? -x : x }
        NR == 1 { next }
        { rank = $1; true_offset_ns = $2; offset_ns = $3; true_drift_ppm = $4; drift_ppm = $5; rtt_ns = $6;
            residual_ns = $7; model_error_ns = $8
          later_error_ns = $9; exchanges = $10; is_measured = $12; bound_ns = $13 }
        rank > 0 { n++; if (!('"$condition"')) { print "not so: '"$condition"'"; print; bad = 1 } }
        END { exit bad || NR < 2 }' "$ROWS" || { cat "$ROWS" && false; }
}
