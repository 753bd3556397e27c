#!/usr/bin/env bats
# What noiselab-detect does about nodes: which of them get the noise, what is written of each, treatments from
# outside, and how launches end whose disk, folder or ranks are gone.

load detect
source "$BATS_TEST_DIRNAME/../two-nodes.sh"

setup_file() { export TESTS="$BATS_TEST_DIRNAME/.."; }
teardown_file() { two_nodes_remove "$BATS_FILE_TMPDIR"; } # also after a test that was broken off

# in_a_minute COMMAND...: two ranks, ended after a minute
in_a_minute() {
    needs_cpus 2
    export -f exec_on_cores
    export MPIRUN_COMMAND
    timeout 60 bash -c 'exec_on_cores 2 "$@"' bash "$@"
}

# bats test_tags=quick
@test "nodes that are no list of names, and a treatment from outside that cannot be, are refused" {
    refused "--noise-nodes: the list is empty" --noise-nodes a,,b
    refused "--noise-nodes: 'a' stands twice" --noise-nodes a,b,a
    refused "--noise-nodes: 'a b' is not a name" --noise-nodes 'a b'
    refused "--arms: external: design lockin" --arms both:external=accounting
    refused "--arms: external: design blocks" --design blocks --arms on:external=accounting
    refused "--arms: external: say whether 'accounting' is there" --arms both:external=accounting \
        --design single
    refused "--levels: with an external treatment no generator is started" --design single \
        --arms on:external=accounting --levels 1
    refused "--kind: with an external treatment" --design single --arms on:external=accounting --kind spin
    refused "--gen: with an external treatment" --design single --arms on:external=accounting \
        --gen '--carry 5'
    refused "--noise-nodes: with an external treatment" --design single --arms on:external=accounting \
        --noise-nodes first
    refused "--arms: external: '../x' is not a plain name" --design single --arms on:external=../x
    refused "--arms: external: 'a23456789012345678901234567890123' is not a plain name" \
        --arms on:external=a23456789012345678901234567890123
}

@test "trees reach every rank, whatever the number of ranks and the size of what they bring" {
    take_turns
    "$BIN/../tests-mpi/tree_probe" >"$BATS_TEST_TMPDIR/probe"
    on_cores 7 "$BIN/../tests-mpi/tree_probe" >>"$BATS_TEST_TMPDIR/probe"
    [ "$(grep -c '^ok' "$BATS_TEST_TMPDIR/probe")" -eq 12 ]
}

@test "a node that is not in the launch is named, with those that are, and nobody is left waiting" {
    unknown() {
        in_a_minute "$DETECT" --out "$OUT" --op barrier --noise-nodes "$(hostname),nowhere" 2>"$ERR"
    }
    fails_with 2 "--noise-nodes: no node of this launch is called 'nowhere'; they are $(hostname)" unknown
    [ "$(grep -c '^noiselab-detect: ' "$ERR")" -eq 1 ]
    [ ! -e "$OUT" ]
}

# its shift: tests/unit/detector/halves/test_half_sum.c
@test "a node's figures are the sums over its ranks and the rows" {
    launch 2 --op barrier,allreduce --levels 0,20 --warmup 0s --seconds 0.7 --half-period 10ms \
        --launch-id one --noise-nodes "$(hostname)"
    jq -e '.options.noise_nodes == $host and .hosts[0].treated and .hosts[0].ranks == 2' \
        --arg host "$(hostname)" "$OUT/one/launch.json"
    [ "$(head -n 1 "$OUT/one/nodes.csv")" = \
        "$(described_columns nodes)" ]
    [ "$(head -n 1 "$OUT/one/ranks.csv" | grep -o 'pairs,.*')" = \
        pairs,preempted_shift_percent_mean,preempted_shift_percent_sd,rank_steal_ns ]
    awk -F , '
        FNR == 1 { file++; split("", c); for (i = 1; i <= NF; i++) c[$i] = i; next }
        file == 1 { # the rows
            arm = $c["arm"] $c["level_requested_percent"]
            halves[arm]++; wall[arm] += $c["wall_ns"]; preempted[arm] += $c["preempted_ns_sum"];
                steal[arm] += $c["rank_steal_ns_sum"]; switches[arm] += $c["involuntary_switches"]
            if ($c["arm"] == "on") pairs[arm]++
            next
        }
        file == 2 { # the ranks
            arm = $c["arm"] $c["level_requested_percent"]
            of_ranks[arm] += $c["preempted_ns"]; steal_of_ranks[arm] += $c["rank_steal_ns"];
                detours[arm] += $c["detours"]; slowest[arm] += $c["times_slowest"]
            next
        }
        { # the nodes
            arm = $c["arm"] $c["level_requested_percent"]; n++
            wanted = halves[arm] " " wall[arm] " " preempted[arm] " " steal[arm] " " switches[arm] " " \
                detours[arm] " " halves[arm]
            got = $c["halves"] " " $c["wall_ns"] " " $c["preempted_ns"] " " $c["rank_steal_ns"] " " \
                $c["involuntary_switches"] " " $c["detours"] " " $c["times_slowest"]
            if (wanted != got || preempted[arm] != of_ranks[arm] || steal[arm] != steal_of_ranks[arm] ||
                slowest[arm] != halves[arm]) { print arm, wanted, got; exit bad = 1 }
            # shifts only of on halves
            has_shift = $c["preempted_shift_percent_mean"] $c["preempted_shift_percent_sd"] != ""
            if ($c["pairs"] != pairs[arm] || has_shift != ($c["arm"] == "on")) {
                print "shift of", arm
                exit bad = 1
            }
        }
        END { exit bad || n != 3 }' "$OUT/one/halves.csv" "$OUT/one/ranks.csv" "$OUT/one/nodes.csv"
}

@test "a launch as a whole is under a treatment from outside, or not" {
    for arm in on off; do
        launch 1 --design single --arms "$arm:external=slurm-accounting" --op empty --warmup 0s \
            --seconds 0.1 --launch-id "$arm"
        jq -e '.slurm == null and .launcher == "none" and .options.external == "slurm-accounting" and
            .options.noise_nodes == null and .options.levels_percent == [] and
                .n_generators == 0' "$OUT/$arm/launch.json"
        for file in blocks ranks nodes; do [ "$(column arm "$OUT/$arm/$file.csv")" = "$arm" ]; done
    done
    for file in blocks ranks nodes; do
        awk "$header"'{
            print $c["kind"] "/" $c["level_requested_percent"] "/" $c["pattern"] "/" $c["placement"]
        }' "$OUT"/{on,off}/$file.csv | paste -sd ' ' |
            grep -qx 'slurm-accounting/// /0//'
    done
}

@test "what Slurm says of the job is written down" {
    local words=(--design single --levels none --op empty --warmup 0s --count 10)
    export SLURM_JOB_ID=17 SLURM_STEP_ID=0 SLURM_JOB_NODELIST='n[1-2]' SLURM_CPUS_PER_TASK=3 \
        SLURM_ACCTG_FREQ=task=30 SLURM_MPI_TYPE=pmix
    launch 1 "${words[@]}" --launch-id srun
    NOISELAB_ACCTG_FREQ=task=0 launch 1 "${words[@]}" --launch-id runner
    jq -e '.slurm | .SLURM_JOB_ID == "17" and .SLURM_STEP_ID == "0" and .SLURM_JOB_NODELIST == "n[1-2]" and
        .SLURM_CPUS_PER_TASK == "3" and
        .mpi_type == "pmix" and .account_sampling == "task=30"' "$OUT/srun/launch.json"
    jq -e '.slurm.account_sampling == "task=0"' "$OUT/runner/launch.json"
}

@test "tasks of a launcher that MPI knows nothing of make no campaign of lone ranks" {
    # alone VARIABLES WANTED: of a task with these in its environment
    alone() { (export $1 && refused "$2" --op empty --levels none --design single --count 10); }
    alone 'SLURM_NTASKS=4 SLURM_PROCID=2' 'Slurm started 4 tasks, MPI sees 1: srun --mpi=pmix'
    alone 'SLURM_STEP_NUM_TASKS=4 SLURM_LOCALID=0 SLURM_PROCID=0' \
        'Slurm started 4 tasks, MPI sees 1: srun --mpi=pmix'
    alone 'PALS_RANKID=0 PALS_LOCAL_RANKID=0 PMI_SIZE=4' 'PALS started 4 ranks, MPI sees 1'
    # the task is one, though the job has more
    (export SLURM_NTASKS=4 SLURM_STEP_NUM_TASKS=1 SLURM_LOCALID=0 SLURM_PROCID=0 &&
        launch 1 --op empty --levels none --design single --count 10)
}

@test "ranks that may use fewer CPUs than they are are named before measuring, with the CPUs" {
    "$MPIRUN_COMMAND" --version 2>&1 | grep -q HYDRA && skip 'the words are those of Open MPI'
    take_turns
    "$MPIRUN_COMMAND" --oversubscribe --bind-to none -np 2 taskset -c "$FIRST_CPU" "$DETECT" --out "$OUT" \
        --op empty --levels none --design single \
        --count 10 2>"$ERR"
    grep -q "before measuring: 2 ranks of $(uname -n) may use CPU $FIRST_CPU only: they take turns and \
disturb each other" "$ERR"
}

@test "a clock whose steps are too long for a half is refused, with the step that was measured" {
    shared coarse.so <<'END'
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *t) {
    int failed = (int)syscall(SYS_clock_gettime, clock, t);
    t->tv_nsec -= t->tv_nsec % 10000000;
    return failed;
}
END
    LD_PRELOAD=$BATS_TEST_TMPDIR/coarse.so timeout 60 "$DETECT" --out "$OUT" --op empty --levels none \
        --design single --seconds 0.5 2>"$ERR" && false
    grep -q '^noiselab-detect: the clock (clock_gettime, .*) moves in steps of 10 ms, measured; what is '\
'timed here wants 5 ms at most' "$ERR"
    [ ! -e "$OUT" ]
    LD_PRELOAD=$BATS_TEST_TMPDIR/coarse.so timeout 60 "$BIN/noiselab-accept" --out "$OUT" --checks detour \
        --seconds 0.5 2>"$ERR" && false
    grep -q '^noiselab-accept: the clock (clock_gettime) moves in steps of 10000000 ns, measured' "$ERR"
    [ ! -e "$OUT" ]
}

# no_line_but WANTED: stderr has one line of the detector's, and it holds WANTED; warnings, of what a busy
# machine does, are not counted
no_line_but() {
    grep '^noiselab-detect: ' "$ERR" | grep -v '^noiselab-detect: warning: ' >"$ERR.lines"
    [ "$(wc -l <"$ERR.lines")" -eq 1 ]
    grep -qF -- "$1" "$ERR.lines"
}

@test "a disk that gets full ends the launch in one line, and what fits stays readable" {
    needs_cpus 2
    [ "$(id -u)" = 0 ] || skip 'needs root, to mount a small file system'
    mkdir "$OUT"
    mount -t tmpfs -o size=64k noiselab-test "$OUT" || skip 'cannot mount a tmpfs here'
    status=0
    in_a_minute "$DETECT" --out "$OUT" --op barrier --levels 1 --half-period 2ms --warmup 0s --seconds 30 \
        --launch-id one 2>"$ERR" || status=$?
    cp -r "$OUT/one" "$BATS_TEST_TMPDIR/kept" || true
    umount "$OUT"
    no_line_but "No space left on device; what was taken before it is kept"
    grep -qE "cannot write '$OUT/one/(halves.csv|slices|counters\.[^/]*\.csv)'" "$ERR"
    [ "$status" -eq 2 ]
    [ "$(wc -l <"$BATS_TEST_TMPDIR/kept/halves.csv")" -gt 50 ]
    [ "$(awk -F , 'NF != 44' "$BATS_TEST_TMPDIR/kept/halves.csv" | wc -l)" -eq 0 ]
    [ "$(tail -c 1 "$BATS_TEST_TMPDIR/kept/halves.csv" | od -An -c | tr -d ' ')" = '\n' ]
    [ ! -e "$BATS_TEST_TMPDIR/kept/launch.json.new" ]
    [ "$(jq -r '.ended // "" | . == "" or startswith("failed")' "$BATS_TEST_TMPDIR/kept/launch.json")" = \
        true ]
}

# as srun does it: all tasks get the signal at once
@test "a TERM to all ranks at once ends the launch, which says so, and follows no links in its folder" {
    background --levels 1
    generator=$(generator_of "$MPIRUN")
    echo theirs >"$BATS_TEST_TMPDIR/victim"
    for file in launch.json ranks.csv hist.csv nodes.csv; do
        ln -sf "$BATS_TEST_TMPDIR/victim" "$OUT/one/$file"
        ln -sf "$BATS_TEST_TMPDIR/victim" "$OUT/one/$file.new"
    done
    kill -TERM $(ranks_of "$MPIRUN")
    wait "$MPIRUN" || true
    [ "$(cat "$BATS_TEST_TMPDIR/victim")" = theirs ]
    for file in launch.json ranks.csv hist.csv nodes.csv; do
        [[ -f $OUT/one/$file && ! -L $OUT/one/$file && ! -e $OUT/one/$file.new ]]
    done
    grep -q 'interrupted: ' "$ERR"
    jq -e '.ended == "interrupted" and (.generators | length) == 1' "$OUT/one/launch.json"
    [ "$(jq .rows "$OUT/one/launch.json")" -eq "$(tail -n +2 "$OUT/one/halves.csv" | wc -l)" ]
    [ "$(tail -c 1 "$OUT/one/halves.csv" | od -An -c | tr -d ' ')" = '\n' ]
    [ "$(column halves "$OUT/one/nodes.csv" | awk '{ n += $1 } END { print n }')" \
        -eq "$(jq .rows "$OUT/one/launch.json")" ]
    wait_for is_gone "$generator"
}

@test "a folder that vanishes ends the launch in one line" {
    background --levels 1
    generator=$(generator_of "$MPIRUN")
    # while it is emptied the detector may add files
    wait_until 30 rm -r "$OUT/one"
    ends 2 wait "$MPIRUN"
    no_line_but 'the file was removed while the launch ran'
    # whichever was missed first
    grep -qE "cannot write '$OUT/one/(halves|counters\.[^/]*)\.csv'" "$ERR.lines"
    wait_for is_gone "$generator"
}

@test "nothing is locked: a results folder may lie on a file system without locks" {
    ! grep -rnE --include='*.[ch]' '\b(flock|lockf)\(|F_(OFD_)?(SETLKW?|GETLK)' \
        "$BATS_TEST_DIRNAME"/../../{detector,common}
}

@test "of 16 ranks rank 0 holds little more than the others, and every file has rows of all of them" {
    needs_cpus 2
    take_turns
    exec_on_cores 16 "$DETECT" --oversubscribe --out "$OUT" --op barrier --levels 0,5 --starts round \
        --half-period 50ms --warmup 0s --seconds 60 --launch-id one >/dev/null 2>"$ERR" 3>&- &
    MPIRUN=$!
    # with sums of the starts of some halves
    has_some_rows() { [ "$(cat "$OUT"/*/halves.csv 2>/dev/null | wc -l)" -gt 8 ]; }
    wait_for has_some_rows
    for pid in $(ranks_of "$MPIRUN"); do
        # its memory that is no other's, files and shared memory left out
        echo "$(tr '\0' '\n' <"/proc/$pid/environ" | sed -n 's/^\(OMPI_COMM_WORLD_RANK\|PMI_RANK\)=//p') \
$(awk '$1 == "RssAnon:" { print $2 }' "/proc/$pid/status")"
    done | sort -n >"$BATS_TEST_TMPDIR/memory"
    kill -TERM $(ranks_of "$MPIRUN")
    wait "$MPIRUN" || true
    awk '$1 == 0 { first = $2 } $1 > 0 { n++; if ($2 > most) most = $2 } END {
        exit !(n == 15 && first < most + 16384) }' "$BATS_TEST_TMPDIR/memory"
    [ "$(column rank "$OUT/one/ranks.csv" | sort -nu | wc -l)" -eq 16 ]
    # every synchronisation has a row of each rank
    [ "$(column rank "$OUT/one/clocks.csv" | sort | uniq -c | awk '{ print $1 }' | sort -u | wc -l)" -eq 1 ]
    jq -e '.ended == "interrupted" and (.placement | length) == 16 and (has("certificates_left_out") | not)' \
        "$OUT/one/launch.json"
}

# on_two_nodes ARGUMENTS: one rank on each of node1 and node2
on_two_nodes() { two_nodes_run "$BATS_FILE_TMPDIR" 1 "$DETECT" --out "$OUT" --op barrier "$@" 2>"$ERR" 3>&-; }

@test "noise on one of two nodes comes from a generator there, and is found there" {
    local reason
    reason=$(two_nodes_why_not)
    [ -z "$reason" ] || skip "$reason"
    # a rank that gave its CPU up while it waits for the loaded node would lose it to other work there, and
    # seem loaded, too
    export OMPI_MCA_mpi_yield_when_idle=0
    if ! two_nodes_make nodes "$BATS_FILE_TMPDIR" 2>"$BATS_TEST_TMPDIR/why"; then
        skip "no network namespaces here: $(tail -n 1 "$BATS_TEST_TMPDIR/why")"
    fi
    status=0
    # heavy, and until the end of a block: other work on this machine must not hide it
    on_two_nodes --design blocks --block 200ms --levels 60 --period 20ms --warmup 0s --seconds 3 \
        --noise-nodes node2.example.org --launch-id listed || status=$?
    on_two_nodes --levels 20 --warmup 0s --seconds 1 --noise-nodes node1,node3 --launch-id lost && status=99
    cp "$ERR" "$BATS_TEST_TMPDIR/lost"
    on_two_nodes --levels 20 --design single --seconds 0.2 --warmup 0s --noise-nodes first \
        --launch-id first || status=$?
    two_nodes_remove "$BATS_FILE_TMPDIR"
    [ "$status" -eq 0 ]
    grep -q "no node of this launch is called 'node3'; they are node1, node2" "$BATS_TEST_TMPDIR/lost"
    [ ! -e "$OUT/lost" ]
    jq -e '[.hosts[] | [.host, .treated]] == [["node1", true], ["node2", false]] and
        .options.noise_nodes == "first"' "$OUT/first/launch.json"
    jq -e '[.hosts[] | [.host, .treated]] == [["node1", false], ["node2", true]] and .n_generators == 1 and
        [.generators[].host] == ["node2"]' "$OUT/listed/launch.json"
    # percent of the one CPU that is loaded, not of both nodes', in the certificate and in the rows
    jq -e '.generators[0].levels[0] | .cpus == 1 and
        (.level_delivered_percent - 100 * .delivered_ns / .wall_ns | fabs) < 0.01' "$OUT/listed/launch.json"
    awk "$header"'
        { n++; d = $c["level_delivered_percent"] - 100 * $c["delivered_ns"] / $c["wall_ns"];
            if (d * d > 1e-4) { print; exit bad = 1 } }
        END { exit bad || n == 0 }' "$OUT/listed/blocks.csv"
    awk "$header"'
        $c["arm"] == "on" { shift[$c["host"]] = $c["preempted_shift_percent_mean"]; n++ }
        END { print "percent of a CPU preempted: node1", shift["node1"], "node2", shift["node2"];
            exit !(n == 2 && shift["node2"] > shift["node1"] + 2) }' "$OUT/listed/nodes.csv"
}
