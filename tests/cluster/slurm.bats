#!/usr/bin/env bats
# The detector under Slurm on several nodes, and what is left when a node fails under it: a reason in bounded
# time, and data that can be read.

load cluster

setup_file() { cluster_up 3; }

teardown() {
    tell
    [ -z "$LEFT_OUT" ] || return 0
    # what the test broke is put right for the next one
    [ -z "${LOST-}" ] || "$CLUSTER" mend "$DIR" "$LOST" 3>&-
    on_login scancel -f --user=root
    wait_until 30 is_free
}

is_free() { [ "$(on_login sinfo -h -p main -t idle -o %D)" = 3 ]; }

# detect NODES OPTION...: one rank on each
detect() {
    on_login srun --mpi=pmix -N "$1" -n "$1" "$BIN/noiselab-detect" --op barrier --levels 10 \
        --out "$OUT" "${@:2}" 2>"$ERR"
}

@test "nodes have names, addresses and a CPU of their own" {
    on_login srun -l -N3 sh -c \
        'echo $(hostname) $(ip -o -4 addr show dev eth0 | grep -o "inet [0-9.]*") \
            $(grep -o "Cpus_allowed_list.*" /proc/self/status)' |
        sort >"$BATS_TEST_TMPDIR/nodes"
    [ "$(grep -cE '^[012]: node[123] inet [0-9.]*\.[123] Cpus_allowed_list: [0-9]*$' \
        "$BATS_TEST_TMPDIR/nodes")" -eq 3 ]
    [ "$(cut -d' ' -f2 "$BATS_TEST_TMPDIR/nodes" | sort -u | wc -l)" -eq 3 ]
    # as many CPUs as this machine gives, in turn
    [ "$(sed 's/.*: //' "$BATS_TEST_TMPDIR/nodes" | sort -u | wc -l)" -eq "$(($(nproc) < 3 ? $(nproc) : 3))" ]
    "$CLUSTER" on "$DIR" node1 touch /dev/shm/mine
    [ -z "$("$CLUSTER" on "$DIR" node2 ls /dev/shm)" ]
    [ ! -e /dev/shm/mine ]
}

@test "the detector runs on two and on three nodes, and records their names and Slurm's ids" {
    for n in 2 3; do
        OUT="$BATS_TEST_TMPDIR/$n"
        detect "$n" --noise-nodes first --seconds 500ms --warmup 0s
        jq -c '[.ended, .nodes, [.hosts[].host], [.generators[].host], .slurm]' "$OUT"/*/launch.json |
            tee "$BATS_TEST_TMPDIR/facts"
        [ "$(jq -c '[.ended, .nodes, [.generators[].host]]' "$OUT"/*/launch.json)" = \
            "[\"complete\",$n,[\"node1\"]]" ]
        [ "$(jq -r '.hosts[].host' "$OUT"/*/launch.json)" = "$(seq -f 'node%g' "$n")" ]
        [ "$(jq -r .slurm.SLURM_JOB_NODELIST "$OUT"/*/launch.json)" = "node[1-$n]" ]
        jq -e '.slurm | (.SLURM_JOB_ID | tonumber) > 0 and (.SLURM_STEP_ID | tonumber) == 0' \
            "$OUT"/*/launch.json
        awk -v n="$n" "$header"'
            $c["arm"] == "on" { on[$c["host"]] += $c["detours"] + 0 }
            END { for (host in on) hosts++; exit !(hosts == n && on["node1"] > 0) }' "$OUT"/*/ranks.csv
    done
}

# srun's status is 0 or not, as it happens: what says that a launch is whole is its own file
@test "a node switched off in the middle of a run ends it in a minute, and its data can be read" {
    detect 2 --seconds 300 &
    local srun=$!
    wait_until 60 has_rows
    LOST=node2
    "$CLUSTER" fail "$DIR" node2 3>&-
    wait_until 60 is_over "$srun"
    wait "$srun" || true
    grep -qF 'Node failure on node2' "$ERR"
    jq -e '.ended != "complete"' "$OUT"/*/launch.json
    "$BIN/noiselab-analyze" "$OUT" | grep -qE '(detected|inconclusive)'
    no_load() { ! "$CLUSTER" on "$DIR" node1 pgrep -x noiselab-gen >/dev/null 3>&-; }
    wait_until 20 no_load
    [ "$(on_login srun -Q -w node3 hostname)" = node3 ]
}
