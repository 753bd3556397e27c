#!/usr/bin/env bats
# The detector on nodes without Slurm, by the mpirun of each MPI library: the cluster tells each how to reach
# a node.

load cluster
load ../rules

setup_file() { cluster_up 2 --no-slurm; }

# on_nodes MPIRUN FOLDER LIBRARY: the detector of that folder, one rank on each node, with noise on both; then
# two on each, which share their CPU
on_nodes() {
    local mpirun=$1 detect=$2/noiselab-detect library=$3 facts
    run_on_nodes "$mpirun" "$detect" --op barrier,allreduce --levels 10 --seconds 300ms --warmup 0s
    facts=$(jq -c '[.ended, .nodes, [.hosts[].host], [.generators[].host], .mpi.library]' \
        "$OUT"/*/launch.json)
    echo "$facts"
    [ "$facts" = "[\"complete\",2,[\"node1\",\"node2\"],[\"node1\",\"node2\"],\"$library\"]" ]
    rm -r "$OUT"
    run_on_nodes "$mpirun" --per-node 2 "$detect" --op barrier --levels none --design single --seconds 0.2 \
        --warmup 0s --oversubscribe
    [ "$(jq -c '[.ended, .nodes, .ranks]' "$OUT"/*/launch.json)" = '["complete",2,4]' ]
    # numbered node by node, each on its node's CPU
    awk "$header"'{ print $c["rank"], $c["host"] }' "$OUT"/*/ranks.csv |
        sort -un >"$BATS_TEST_TMPDIR/seats"
    [ "$(paste -sd, "$BATS_TEST_TMPDIR/seats")" = '0 node1,1 node1,2 node2,3 node2' ]
}

run_on_nodes() {
    NOISELAB_MPIRUN=$1 timeout 120 "$CLUSTER" mpirun "$DIR" "${@:2}" --out "$OUT" 2>"$ERR" 3>&-
}

# rules_on_nodes MPIRUN FOLDER LIBRARY: each rule of advise acts for 2 and 2 ranks, and one that is wrong does
# not. A size is looked up as that of a rank or of all of them, and which it is does not depend on where they
# are
rules_on_nodes() {
    local rules words='' per_node=2 wrong=alltoall
    BUILD=$(realpath "$BIN/..")
    export OMPI_MCA_coll_tuned_use_dynamic_rules=1 OMPI_MCA_mpi_yield_when_idle=1 \
        OMPI_MCA_rmaps_base_oversubscribe=1
    export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
    cd "$BATS_TEST_TMPDIR" || return
    write_rules right
    cp right wrong
    # for the size of a rank where that of all is asked
    sed -i '/# alltoall$/,/^5 / { s/^4096 /1024 /; s/^4097 /1025 / }' wrong
    # han takes the call, unless its own file hands it on
    [[ "$("$1" --version 2>&1)" != *'Open MPI) 5'* ]] || wrong='alltoall allreduce'
    write_rules right.han TRUE
    for rules in right wrong; do
        [ $rules = right ] && words=$(rule_words 1024 1088) ||
            per_node=3 words='alltoall=pairwise:1024 allreduce=nonoverlapping:1024'
        # the fifth and sixth ranks are of nobody's four; once is enough
        OMPI_MCA_coll_han_use_dynamic_file_rules=$([ $rules = wrong ] && echo 0 || echo 1) \
            OMPI_MCA_coll_han_dynamic_rules_filename=$PWD/$rules.han \
            OMPI_MCA_coll_tuned_dynamic_rules_filename=$PWD/$rules NOISELAB_MPIRUN=$1 timeout 120 "$CLUSTER" \
            mpirun "$DIR" --per-node $per_node \
            "$2/../libexec/noiselab/noiselab-rules" --out $rules.ran --ranks 4 $words 3>&-
    done
    rules_act right.ran 2
    for words in $wrong; do ! acts wrong.ran "$words" 2 || return; done
}

# with_library NAME LIBRARY SAYS [FUNCTION]: on_nodes or another one, with the programs at hand if their
# mpirun says so of itself; otherwise those that the matrix has built, or, with NOISELAB_LIBRARIES=build,
# builds now, in a folder that stays: some minutes, which `make test-long` takes
with_library() {
    local mpirun=${NOISELAB_MPIRUN:-mpirun} bin=$BIN
    if [[ "$("$mpirun" --version 2>&1)" != *"$3"* ]]; then
        [ "${NOISELAB_LIBRARIES-}" = build ] || [ -x "$BIN/../matrix/$1/bin/noiselab-detect" ] ||
            skip "not built for $2 here (make test-matrix MATRIX=$1, or NOISELAB_LIBRARIES=build)"
        IFS=$'\t' read -r mpirun bin < <("$BATS_TEST_DIRNAME/../matrix.sh" --build "$1" 2>"$ERR" 3>&- ||
            echo "status $?")
        cat "$ERR"
        [ "$mpirun" != 'status 3' ] || skip "$(tail -n 1 "$ERR")"
    fi
    "${4-on_nodes}" "$mpirun" "$bin" "$2"
}

@test "mpirun of Open MPI 4.1 runs the detector on both nodes" { with_library openmpi4-gcc 'Open MPI' \
    'Open MPI) 4'; }

@test "mpirun of Open MPI 5 runs the detector on both nodes" { with_library openmpi5-gcc 'Open MPI' \
    'Open MPI) 5'; }

@test "each rule of advise acts on a communicator of two nodes of Open MPI 4.1, and a wrong one does not" {
    with_library openmpi4-gcc 'Open MPI' 'Open MPI) 4' rules_on_nodes
}

@test "each rule of advise acts on a communicator of two nodes of Open MPI 5, and a wrong one does not" {
    with_library openmpi5-gcc 'Open MPI' 'Open MPI) 5' rules_on_nodes
}

@test "mpirun of MPICH runs the detector on both nodes" { with_library mpich-gcc MPICH HYDRA; }

# on_one_cpu COMMAND...: on the login node as if it were one of the nodes, the first of whose CPUs it has
on_one_cpu() { on_login taskset -c "$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')" "$@"; }

# hosts_reachable: mpirun itself is told how to reach nodes, as a user's settings do
hosts_reachable() {
    # writes the command that takes the place of ssh
    "$CLUSTER" mpirun "$DIR" true 3>&- || return
    export OMPI_MCA_plm_rsh_agent="$DIR/etc/rsh" PRTE_MCA_plm_ssh_agent="$DIR/etc/rsh" HYDRA_LAUNCHER=rsh \
        HYDRA_LAUNCHER_EXEC="$DIR/etc/rsh"
    export OMPI_MCA_oob_tcp_if_include=10.211.78.0/24 OMPI_MCA_btl_tcp_if_include=10.211.78.0/24 \
        PRTE_MCA_prte_if_include=10.211.78.0/24
    # the nodes are confined to a CPU each, which Open MPI's binding does not ask
    export OMPI_MCA_hwloc_base_binding_policy=none PRTE_MCA_hwloc_default_binding_policy=none
}

@test "an acceptance campaign on hosts without Slurm turns their order and finds the load on its node" {
    hosts_reachable
    status=0
    # one of the nodes is that of mpirun itself, which Open MPI would put first
    on_one_cpu "$BIN/noiselab" run acceptance --hosts node2,login --out "$OUT" --no-report \
        --checks integrity,detour --seconds 500ms --self-check 40:4s \
        --seed 4 \
        >"$BATS_TEST_TMPDIR/answer" 2>"$ERR" || status=$?
    [ "$status" -ne 2 ]
    [ "$(jq -r '.hosts | map(.host) | join(",")' "$OUT"/*-000[12]/launch.json | paste -sd ' ')" = \
        'node2,login login,node2' ]
    grep -qx '# hosts: node2,login' "$OUT/schedule.tsv"
    chosen=$(jq -r .options.noise_nodes "$OUT"/*-selfcheck/launch.json)
    # other work on this machine may be pushed from the loaded CPU to the other one, and be seen there
    jq -e --arg chosen "$chosen" '.self_check | .chosen == $chosen and (.named | index($chosen) != null)' \
        "$OUT/verdict.json"
    jq -e --arg chosen "$chosen" '[.generators[].host] == [$chosen]' "$OUT"/*-selfcheck/launch.json
    rm -r "$OUT"/*-0002
    on_one_cpu "$BIN/noiselab" run acceptance --resume "$OUT" --no-report >"$BATS_TEST_TMPDIR/answer" \
        2>"$ERR" || [ $? -ne 2 ]
    [ "$(jq -r '.hosts | map(.host) | join(",")' "$OUT"/*-0002/launch.json)" = login,node2 ]
}

# half_round_trip CAMPAIGN: the least between the nodes, us
half_round_trip() {
    awk "$header"'
        $c["variant"] == "between" && $c["metric"] == "half_round_trip" && (n++ == 0 || $c["value"] < least) {
            least = $c["value"] }
        END { print int(least / 1000) }' "$1"/*/accept.csv
}

@test "a relay makes a link slow until it ends" {
    relay=$("$CLUSTER" relay "$DIR" node1 node2 30000)
    for out in "$OUT" "$OUT-after"; do
        NOISELAB_MPIRUN=${NOISELAB_MPIRUN:-mpirun} "$CLUSTER" mpirun "$DIR" "$BIN/noiselab-accept" \
            --checks latency --sizes 8 --seconds 600ms \
            --out "$out" >/dev/null 2>"$ERR" 3>&-
        [ ! -d "/proc/$relay" ] || kill "$relay"
    done
    # a packet is held for 30 ms each way, longer than a busy machine holds one
    [ "$(half_round_trip "$OUT")" -ge 30000 ]
    [ "$(half_round_trip "$OUT")" -lt 300000 ]
    [ "$(half_round_trip "$OUT-after")" -lt 30000 ]
}

@test "a node of --hosts that dies in the middle of an acceptance campaign is named, and fails" {
    long_only
    hosts_reachable
    on_one_cpu "$BIN/noiselab" run acceptance --hosts node1,node2 --out "$OUT" --no-report \
        --checks latency,detour --seconds 30s --launches 2 \
        --self-check none >"$BATS_TEST_TMPDIR/answer" 2>"$ERR" 3>&- &
    local run=$!
    wait_until 90 has_second_launch
    "$CLUSTER" fail "$DIR" node2 3>&-
    wait_until 60 is_over "$run" || kill "$run"
    wait "$run" && false
    "$CLUSTER" mend "$DIR" node2 3>&-
    grep -q '^# lost: .*-0002 node2$' "$OUT/schedule.tsv"
    jq -e '.verdict == "fail" and ([.judgements[] | select(.check == "lost") | .entity] == ["node2"])' \
        "$OUT/verdict.json"
    grep -q '^FAIL on 2 nodes: node2.* failed (lost' "$BATS_TEST_TMPDIR/answer"
}

has_second_launch() { [ -s "$OUT"/*-0002/launch.json ]; }
