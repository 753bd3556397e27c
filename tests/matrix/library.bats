#!/usr/bin/env bats
# What must hold with every MPI library, and what the wrong one's mpirun comes to. tests/matrix.sh sets
# NOISELAB_MPIRUN, MATRIX_SAYS (what this mpirun says of itself) and MATRIX_STRANGER (an mpirun of another
# library).

load ../cli/detect

@test "ranks know of each other, and the launch names the library that it was built with" {
    launch 2 --op barrier --levels none --design single --count 100 --launch-id one
    jq -c '[.ranks, .mpi]' "$OUT/one/launch.json"
    [ "$(jq -r .ranks "$OUT/one/launch.json")" = 2 ]
    case $MATRIX_SAYS in
    HYDRA) wanted='MPICH Version' ;;
    *) wanted=$(sed 's/) / v/' <<<"$MATRIX_SAYS") ;; # Open MPI) 5: Open MPI v5
    esac
    [[ "$(jq -r .mpi.version "$OUT/one/launch.json")" == "$wanted"* ]]
}

@test "noiselab run starts the ranks with the launcher that NOISELAB_MPIRUN names" {
    "$BIN/noiselab" run sensitivity --op barrier --levels 50 --half-period 100ms --ranks 2 --seconds 3 \
        --no-report --out "$OUT" \
        >"$BATS_TEST_TMPDIR/table" 2>"$ERR" || { cat "$ERR" && false; }
    jq -e '.ended == "complete" and .ranks == 2 and .n_generators == 1' "$OUT"/*/launch.json
    [ "$(column arm "$OUT"/*/halves.csv | grep -c '^on$')" -ge 5 ]
}

@test "an interrupt of mpirun ends the ranks and leaves the rows readable" {
    take_turns # soon enough rows on a busy machine, too
    background --levels 5 --half-period 10ms || wait_for has_rows || wait_for has_rows || wait_for has_rows
    kill -INT "$MPIRUN"
    wait "$MPIRUN" || true
    MPIRUN=''
    jq -r .ended "$OUT/one/launch.json"
    [ "$(jq -r .rows "$OUT/one/launch.json")" -ge 20 ]
    [ "$(jq -r .rows "$OUT/one/launch.json")" -eq "$(tail -n +2 "$OUT/one/halves.csv" | wc -l)" ]
}

@test "every check of a cluster runs, and a byte that is flipped is found" {
    status=0
    checks=$("$BIN/noiselab-accept" --list checks | awk '{ print $1 }' | paste -sd,)
    on_cores 2 "$BIN/noiselab-accept" --checks "$checks:inject-fault=1:0:20001" --seconds 3 --repetitions 2 \
        --sizes 0,8,1KiB,64KiB --out "$OUT" \
        --launch-id one 2>"$ERR" || status=$?
    cat "$ERR"
    [ "$status" -eq 1 ]
    jq -e '.ended == "complete" and .ranks == 2 and ([.checks[].status] | unique) == ["ran"]' \
        "$OUT/one/launch.json"
    # in each repetition once: only the largest message has such a byte
    [ "$(tail -n +2 "$OUT/one/mismatches.csv" | cut -d , -f 2,3,5,7,8 | paste -sd ' ')" = \
        '1,1,0,262144,20001 2,1,0,262144,20001' ]
}

@test "an agent is started with the launch, switched between its halves, and ends with it" {
    agent="$BIN/noiselab-gen --level 5 --period 50ms --duration 117s"
    launch 2 --op barrier --agent "--agent-cmd '$agent' --agent-name ours" --agent-period 50ms --seconds 3 \
        --launch-id one || { cat "$ERR" && false; }
    jq -c '[.ended, .agents]' "$OUT/one/launch.json"
    jq -e '.ended == "complete" and .ranks == 2 and .n_agents == 1 and .agents[0].name == "ours"' \
        "$OUT/one/launch.json"
    [ "$(column arm "$OUT/one/halves.csv" | sort -u | paste -sd ' ')" = 'off on' ]
    # what it used in the halves in which it ran is in the rows
    awk -F , 'NR == 1 { for (i = 1; i <= NF; i++) c[$i] = i; next }
        { used[$c["arm"]] += $c["agent_cpu_ns"] }
        END { exit !(used["on"] > 10 * used["off"]) }' \
        "$OUT"/one/agent.*.csv
    wait_for eval '! pgrep -f -- "--period 50ms --duration 117s" >/dev/null'
}

@test "mpirun of another library makes no campaign of lonely ranks" {
    [ -n "$MATRIX_STRANGER" ] || skip 'there is no mpirun of another library'
    status=0
    NOISELAB_MPIRUN='' "$MATRIX_STRANGER" -n 2 "$DETECT" --out "$OUT" --op barrier --levels none \
        --design single --count 100 2>"$ERR" || status=$?
    cat "$ERR"
    [ "$status" -ne 0 ]
    [ ! -e "$OUT" ]
    # MPICH ends such a program itself, before the detector can speak
    [ "$MATRIX_SAYS" = HYDRA ] || grep -q 'Hydra started 2 ranks, MPI sees 1: ' "$ERR"
}

@test "algorithms of MPICH are arms of one launch, and what is advised acts by its variables" {
    [ "$MATRIX_SAYS" = HYDRA ] || skip 'tests/cli/advise.bats has those of Open MPI'
    export NOISELAB_R_LIB="$BIN/../lib/noiselab/R"
    "$DETECT" --list algorithms >"$BATS_TEST_TMPDIR/algorithms"
    grep -qx 'allreduce,recursive_doubling' "$BATS_TEST_TMPDIR/algorithms"
    ! grep -q 'smp$' "$BATS_TEST_TMPDIR/algorithms"
    "$BIN/noiselab" run advise --op allreduce --bytes 8 --ranks 2 --launches 4 --seconds 16 --warmup 0s \
        --arrival none --half-period 5ms --no-report \
        --out "$OUT" 2>"$ERR" || [ $? -eq 3 ] || { cat "$ERR" && false; }
    # one number of a vector cannot be scattered: the library refuses, and it is not advised
    jq -se '[.[].algorithms[] | select(.algorithm == "reduce_scatter_allgather") | .in_fact] |
        unique == ["default"]' "$OUT"/*/launch.json
    jq -se '[.[].algorithms[] | select(.algorithm == "ring") | .in_fact] | unique == ["ring"]' \
        "$OUT"/*/launch.json
    # a campaign in which one that is left in all stages takes a quarter of the time
    fast=$(jq -r '[.algorithms[] | select(.algorithm == .in_fact and .algorithm != "default") |
        .algorithm][0]' "$(ls "$OUT"/*/launch.json | tail -n 1)")
    for file in "$OUT"/*/halves.csv; do
        awk -F , -v OFS=, -v fast="$fast" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR > 1 {
            $at["wall_ns"] = $at["operations"] * ($at["operation"] ~ "=" fast "$" ? 1000 : 4000) + \
                int(NR % 7) } 1' "$file" \
                >"$BATS_TEST_TMPDIR/one"
        cp "$BATS_TEST_TMPDIR/one" "$file"
    done
    "$BIN/noiselab" run advise --resume "$OUT" --no-report >"$BATS_TEST_TMPDIR/answer" 2>"$ERR" ||
        [ $? -eq 3 ]
    cat "$ERR" "$BATS_TEST_TMPDIR/answer" "$OUT/advice.tried"
    grep -q '^To select it (holds for MPICH [45].*unset to undo):$' "$BATS_TEST_TMPDIR/answer"
    # by its name from the environment the library has the number that was measured, and runs it without an
    # error
    printf 'export MPIR_CVAR_ALLREDUCE_%s\n' "INTRA_ALGORITHM=$fast" DEVICE_COLLECTIVE=0 |
        diff - "$OUT/advice.rules"
    grep -qx "with allreduce 8 2 default $fast 1" "$OUT/advice.tried"
}
