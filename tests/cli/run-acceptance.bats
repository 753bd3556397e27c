#!/usr/bin/env bats
# noiselab run acceptance as a command: what it plans, what it refuses before anything runs, and what a health
# checker is told of the answer. On one machine; several nodes are in tests/cluster/acceptance.bats.

load run

acceptance() { "$BIN/noiselab" run acceptance --out "$OUT" "$@" 2>"$ERR"; }

# cluster_of NODES CORES: a Slurm job of nodes n1, n2, ... that are not there
cluster_of() {
    slurm_stub srun <<<"i=0; while [ \$((i += 1)) -le $1 ]; do echo n\$i $2 0; done"
    slurm_stub scontrol <<<"case \$* in *hostnames*) seq -f n%g $1 ;; esac"
    slurm_stub squeue <<<':'
    slurm_stub sinfo <<<"echo 'main* infinite $1'"
    slurm_stub sbatch <<<'echo 7'
    export SLURM_JOB_ID=1 SLURM_JOB_NODELIST="n[1-$1]" SLURM_JOB_NUM_NODES=$1 \
        SLURM_JOB_CPUS_PER_NODE="$2(x$1)"
}

# words_of NUMBER: the words of a launch of the schedule, on one line
words_of() { sed '1,/^launch\t/d' "$OUT/schedule.tsv" | sed -n "$1p" | cut -f 5- | tr '\t' ' '; }

@test "a dry run plans for the ranks that there will be; of a heterogeneous job for those of one component" {
    needs_cpus 2
    acceptance --dry-run --ranks 2 >"$BATS_TEST_TMPDIR/stdout"
    grep -q 'in random order, on 2 ranks$' "$BATS_TEST_TMPDIR/stdout"
    [ "$(grep -c skipped: "$BATS_TEST_TMPDIR/stdout")" -eq 0 ]
    acceptance --dry-run | grep -q "on $("$BIN/noiselab-gen" --list cpus | awk '{ print $2 }') ranks$"
    run_refused "--planned-ranks: belongs to --dry-run" "$BIN/noiselab-accept" --planned-ranks 2 \
        --out "$OUT" 2>"$ERR"
    cluster_of 1 2
    SLURM_HET_SIZE=2 acceptance --dry-run
    grep -q 'a heterogeneous job of 2 components: only this one is measured (job 1, 1 node(s))' "$ERR"
}

# bats test_tags=quick
@test "what cannot be meant, and limits that nobody knows, are refused in one line before anything runs" {
    run_refused '--quick and --full cannot be combined' acceptance --quick --full
    run_refused '--json and --lines cannot be combined' acceptance --json --lines
    run_refused "--margin: 'much' is not a margin in percent above 0 (try 1%, or 1%:nodes=1000,every=1ms)" \
        acceptance --margin much
    run_refused "--classes: cannot read '$BATS_TEST_TMPDIR/none'" acceptance \
        --classes "$BATS_TEST_TMPDIR/none"
    run_refused "--checks: 'noise' is not a check" acceptance --checks noise
    run_refused "--self-check: '0.0' is not a level" acceptance --self-check 0.0
    run_refused "--limits: cannot read '$BATS_TEST_TMPDIR/none'" acceptance --limits "$BATS_TEST_TMPDIR/none"
    run_refused "--reference: '$BATS_TEST_TMPDIR' is not a campaign" acceptance \
        --reference "$BATS_TEST_TMPDIR"
    run_refused 'would disturb each other' acceptance --ranks 100000
    run_refused "--seconds: '-3' is not a time" acceptance --seconds=-3
    run_refused "--sizes: '4GiB' is not a size that MPI can count" acceptance --sizes 8,4GiB
    run_refused "--junit: cannot write '$BATS_TEST_TMPDIR/none/a.xml'" acceptance \
        --junit "$BATS_TEST_TMPDIR/none/a.xml"
    [ ! -e "$OUT" ]
    printf '%s\n' '# mine' 'latency.beauty <= 3 us' >"$BATS_TEST_TMPDIR/limits"
    run_refused "limits:2: " acceptance --limits "$BATS_TEST_TMPDIR/limits"
}

@test "hosts that are none, or cannot be reached, are refused in one line before anything runs" {
    run_refused "--hosts: the list is empty or has an empty part" acceptance --hosts a,,b
    run_refused "--hosts: 'a -x' is not a name of a node" acceptance --hosts 'a -x'
    run_refused "--hosts: 'a1' stands twice" acceptance --hosts 'a[1-2],a1'
    run_refused '--hosts: a batch job has nodes of its own' acceptance --hosts a --submit
    run_refused '--hosts are reached by mpirun' acceptance --hosts a --launcher srun
    run_refused '--hosts: an agent is measured on this machine' "$BIN/noiselab" run agent --hosts a \
        --out "$OUT" --agent-cmd true 2>"$ERR"
    run_refused "cannot start a program on no-such-node.invalid: " acceptance --hosts no-such-node.invalid
    run_refused "--hosts: no node calls itself localhost: they are $(uname -n)" acceptance --hosts localhost
    cluster_of 3 1
    run_refused '--hosts: this is job 1, and the nodes are its own' acceptance --hosts n1,n2
    [ ! -e "$OUT" ]
}

@test "the nodes of a job are those of its list, whatever scontrol does; without a list nothing is planned" {
    job_nodes() { "$BIN/../libexec/noiselab/noiselab-sh" job-nodes 2>"$ERR" | paste -sd ' ' -; }
    cluster_of 3 2
    for does in 'exit 1' : 'sleep 60' "printf '%s\\n' n1 n2 n3"; do
        slurm_stub scontrol <<<"$does"
        [ "$(job_nodes)" = 'n1 n2 n3' ]
    done
    slurm_stub scontrol <<<"printf '%s\\n' n1 n2 n4"
    run_refused "job 1: SLURM_JOB_NODELIST: scontrol makes other nodes of 'n[1-3]'" acceptance --dry-run
    slurm_stub scontrol <<<'exit 1'
    SLURM_JOB_NODELIST='n[1-3],n2' run_refused "SLURM_JOB_NODELIST: 'n2' stands twice" acceptance --dry-run
    SLURM_JOB_NODELIST='' run_refused 'job 1: SLURM_JOB_NODELIST is not set: its nodes are not known' \
        acceptance --dry-run
    run_refused "--node-sets 'n[1-2];n[3-4': 'n[3-4': a bracket has no end" acceptance \
        --node-sets 'n[1-2];n[3-4' --dry-run
    run_refused "--node-sets: 'n4' is not a node of job 1 (n1,n2,n3)" acceptance --node-sets 'n[1-2];n[3-4]' \
        --dry-run
    acceptance --dry-run --node-sets 'n[1-2];n3'
    # all but those that an acceptance found worse
    run_refused "'none' has no verdict.json: it is no campaign" acceptance --node-sets accepted:none --dry-run
    jq -n '{nodes: [{host: "n1", verdict: "pass"}, {host: "n2", verdict: "fail"},
        {host: "n4", verdict: "fail"}]}' >"$BATS_TEST_TMPDIR/verdict.json"
    acceptance --dry-run --node-sets "accepted:$BATS_TEST_TMPDIR"
    grep -qx "noiselab-run: --node-sets: left out, as worse in '$BATS_TEST_TMPDIR': n2" "$ERR"
    grep -q 'these nodes were not judged there, and are used: n3' "$ERR"
    [ ! -e "$OUT" ]
}

@test "one node and one core, named as a host: what needs more is left out, the rest is judged" {
    taskset -c "$FIRST_CPU" "$BIN/noiselab" run acceptance --hosts "$(uname -n)" --checks latency,detour \
        --seconds 1s --no-report --out "$OUT" --json \
        >"$BATS_TEST_TMPDIR/answer" 2>"$ERR"
    grep -q 'no self-check: it takes two nodes' "$ERR"
    jq -e '.ranks == 1 and .nodes == 1 and .ended == "complete" and
        (.checks | map([.name, .status])) == [["latency", "skipped"], ["detour", "ran"]]' \
        "$OUT"/*/launch.json
    jq -e '.checks[] | select(.check == "latency") | .status == "skipped" and .reason != ""' \
        "$BATS_TEST_TMPDIR/answer"
    jq -e '.checks[] | select(.check == "detour") | .status == "ran" and .value != null' \
        "$BATS_TEST_TMPDIR/answer"
    cmp "$OUT/verdict.json" "$BATS_TEST_TMPDIR/answer"
    # no other node, margin, limits or reference: its noise is printed, with who had its CPUs, and is not
    # judged
    jq -e '.judged != "noise" and .asked == [] and (.noise[0] | test("^Node .*: other tasks used")) and
        (.noise[-1] | test("^Projection: "))' "$OUT/verdict.json"
    jq -e '([.judgements[] | select(.kind == "scale")] | length == 0) and
        (.hint | test("^For a verdict: "))' "$OUT/verdict.json"
    [ "$(sed -n '1p;3p' "$OUT/nodes/$(uname -n).txt" | paste -sd ' ')" = 'verdict: inconclusive asked: no' ]
    ends 0 "$BIN/noiselab" analyze acceptance "$OUT" >"$BATS_TEST_TMPDIR/answer"
    # the same data judged by a margin, and by one that any noise exceeds
    ends 3 "$BIN/noiselab-node-health" "$OUT/nodes" | grep 'measured, not judged: no margin'
    [[ "$(judged_by_margin 9999%:nodes=1000,every=1ms)" == [013] ]]
    [ "$(judged_by_margin 0.0001%:nodes=1000,every=1ms)" -eq 1 ]
}

# judged_by_margin MARGIN: the status of the same campaign, judged by it
judged_by_margin() {
    local status=0
    "$BIN/noiselab" analyze acceptance --margin "$1" "$OUT" >&2 || status=$?
    echo "$status"
}

@test "a campaign on three nodes turns their order, and draws the node of the self-check by the seed" {
    cluster_of 3 4
    printf '# none\n' >"$BATS_TEST_TMPDIR/limits"
    echo 'thin n1 n2 n3' >"$BATS_TEST_TMPDIR/classes"
    acceptance --submit --nodes 3 --seed 7 --limits "$BATS_TEST_TMPDIR/limits" --margin 5% \
        --classes "$BATS_TEST_TMPDIR/classes" >"$BATS_TEST_TMPDIR/job"
    [ "$(planned | wc -l)" -eq 5 ]
    [ "$(words_of 1)" = '--program=accept --rotate=0:1 --quick --seconds 12000ms --repetitions 4 --seed 7' ]
    [ "$(words_of 2)" = '--program=accept --rotate=1:1 --quick --seconds 12000ms --repetitions 4 --seed 8' ]
    local load=$'^--noise-node=[123] --op empty --kind (spin|cache) --levels '
    [[ "$(words_of 4)" =~ ${load}1' --half-period 1000ms --seconds 40s --seed 10'$ ]]
    # the easier one: ten times the load
    [[ "$(words_of 5)" =~ ${load}10' --half-period 125ms --seconds 5000ms --seed 11'$ ]]
    [[ "$(planned | tail -n 2 | head -n 1)" == *-0004-selfcheck ]]
    [[ "$(planned | tail -n 1)" == *-0005-selfcheck ]]
    grep -qx '# margin_percent: 5' "$OUT/schedule.tsv"
    grep -qx '# classes: classes.conf' "$OUT/schedule.tsv"
    cmp "$OUT/classes.conf" "$BATS_TEST_TMPDIR/classes"
    grep -qx '# limits: limits.conf' "$OUT/schedule.tsv"
    cmp "$OUT/limits.conf" "$BATS_TEST_TMPDIR/limits"
    for seed in 1 2 3 4; do
        rm -rf "$OUT"
        acceptance --submit --nodes 3 --seed "$seed" --launches 1 >/dev/null
        words_of 2 | grep -o 'noise-node=.'
    done | sort | uniq -c >"$BATS_TEST_TMPDIR/drawn"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/drawn")" -eq 3 ]
}

# bats test_tags=quick
@test "nodes have other neighbours in another launch; where a self-check cannot be, the reason is kept" {
    rotations() {
        acceptance --submit "$@" >/dev/null && grep -o 'rotate=[0-9:]*' "$OUT/schedule.tsv" | cut -d = -f 2 |
            paste -sd ' ' - && rm -r "$OUT"
    }
    cluster_of 7 1
    [ "$(rotations --nodes 7 --launches 4)" = '0:1 1:2 3:3 5:1' ]
    cluster_of 1 2
    [ "$(rotations --nodes 1 --launches 5)" = '0:1 0:1 0:1 0:1 0:1' ]
    cluster_of 3 4
    acceptance --submit --nodes 3 --ranks 1 >/dev/null
    grep -q 'takes 1 of the 3 nodes; the others are not checked' "$ERR"
    grep -q 'no self-check: it takes two nodes' "$ERR"
    grep -q '^# self_check: no: it takes two nodes' "$OUT/schedule.tsv"
    [ "$(planned | wc -l)" -eq 1 ]
    rm -rf "$OUT"
    acceptance --submit --nodes 3 --self-check none >/dev/null
    grep -qx '# self_check: no: not asked for' "$OUT/schedule.tsv"
    [ "$(planned | wc -l)" -eq 3 ]
}


@test "nodes of different kinds are refused by name, and a schedule with an order that is none" {
    cluster_of 3 4
    nodes_are() {
        slurm_stub srun <<<'case $* in *--mpi=list*) echo pmix ;; *) printf "%s\n" '"$1"' ;; esac'
    }
    nodes_are '"n1 4 0" "n2 4 0" "n3 2 0"'
    run_refused 'the nodes differ: n1,n2 has 4 core(s), n3 has 2 core(s)' acceptance
    nodes_are '"n1 4 0" "n2 4 0" "n3 4 0"'
    acceptance --submit --nodes 3 >/dev/null
    sed -i 's/--rotate=1:1/--rotate=1:0/' "$OUT/schedule.tsv"
    launch=$(planned | head -n 1)
    mkdir -p "$OUT/$launch" &&
        echo "{\"launch\": \"$launch\", \"ended\": \"complete\"}" >"$OUT/$launch/launch.json"
    ends 2 "$BIN/noiselab" run acceptance --resume "$OUT" 2>"$ERR"
    grep -qF -- "'--rotate=1:0' is not an order of nodes" "$ERR"
}

# health OPTIONS: what the hook says and its status
health() { run --separate-stderr sh "$BATS_TEST_DIRNAME/../../experiments/node-health.sh" "$@"; }

# verdict_of VERDICT ENDED [LINE]...: the file of this host
verdict_of() {
    mkdir -p "$BATS_TEST_TMPDIR/nodes"
    { printf 'verdict: %s\nended_utc: %s\n' "$1" "$2" && shift 2 &&
        printf '%s\n' "$@"; } >"$BATS_TEST_TMPDIR/nodes/$(uname -n).txt"
}

# bats test_tags=quick
@test "a health checker is told pass, fail or inconclusive, with the command that would drain the node" {
    now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
    verdict_of pass "$now"
    health "$BATS_TEST_TMPDIR/nodes"
    [ "$status $output" = "0 $(uname -n): pass ($now)" ]
    verdict_of inconclusive "$now"
    health "$BATS_TEST_TMPDIR/nodes/$(uname -n).txt"
    [ "$status" -eq 3 ]
    verdict_of fail "$now" 'failed: detour [3 %, 4 %] <= 1 % lost' \
        'failed: `touch '"$BATS_TEST_TMPDIR"'/ran`"; reboot'
    # nothing is run: a scontrol that is found would leave a trace
    slurm_stub scontrol <<<"touch $BATS_TEST_TMPDIR/ran"
    health "$BATS_TEST_TMPDIR/nodes"
    [ "$status" -eq 1 ]
    [[ "${lines[1]}" == \
        "scontrol update NodeName=$(uname -n | cut -d . -f 1) State=DRAIN Reason=\"noiselab: detour [3 %, 4 \
%] <= 1 % lost"* ]]
    # the line can be pasted: one word and one quoted string, whatever the file holds
    [[ "${lines[1]#*Reason=}" != *[\`\$\;]* ]]
    [ "$(tr -dc '"' <<<"${lines[1]}" | wc -c)" -eq 2 ]
    [ ! -e "$BATS_TEST_TMPDIR/ran" ]
}

# bats test_tags=quick
@test "a health checker proposes draining by a verdict that somebody asked for only" {
    now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
    verdict_of inconclusive "$now" 'asked: no'
    health "$BATS_TEST_TMPDIR/nodes"
    [ "$status $output" = \
        "3 $(uname -n): measured, not judged: no margin, limits or reference were given ($now)" ]
    verdict_of fail "$now" 'asked: no' 'failed: detour node2: 3 %'
    health "$BATS_TEST_TMPDIR/nodes"
    [ "$status" -eq 1 ]
    [[ "$output" != *scontrol* && "${lines[1]}" == "no draining is proposed: nobody gave a margin"* ]]
    verdict_of fail "$now" 'asked: yes' 'failed: scale node2: more than the record can say'
    health "$BATS_TEST_TMPDIR/nodes"
    [[ "$status" -eq 1 && "${lines[1]}" == *State=DRAIN*'more than the record can say'* ]]
    verdict_of fail "$now" 'asked: perhaps'
    health "$BATS_TEST_TMPDIR/nodes"
    [ "$status" -eq 2 ]
}

@test "a short name that could be two hosts has no verdict of either" {
    now=$(date -u +%Y-%m-%dT%H:%M:%SZ) nodes=$BATS_TEST_TMPDIR/nodes
    verdict_of fail "$now" 'failed: detour lost'
    mv "$nodes/$(uname -n).txt" "$nodes/n01.txt"
    # of HOST STATUS TEXT
    of() { health --host "$1" "$nodes" && [[ $status = "$2" && "$output$stderr" == *"$3"* ]]; }
    for host in n01.a n01.b; do
        of $host 3 "no verdict of $host in '$nodes'; ambiguous: it could be n01, or another node"
    done
    of n01 1 'NodeName=n01 '
    cp "$nodes/n01.txt" "$nodes/n01.b.txt"
    mv "$nodes/n01.txt" "$nodes/n01.a.txt"
    of n01 3 'it could be n01.a, n01.b'
    of n01.b 1 'NodeName=n01.b '
}

# bats test_tags=quick
@test "a verdict that is too old, damaged or missing says nothing against the node" {
    # is STATUS WORD...: what the hook ends with, of a wrong verdict or word with one line
    is() {
        health "${@:2}" && [ "$status" -eq "$1" ] && { [ "$1" -ne 2 ] || [ "${#stderr_lines[@]}" -eq 1 ]
        }
    }
    nodes=$BATS_TEST_TMPDIR/nodes
    verdict_of fail "$(date -u -d '-3 days' +%Y-%m-%dT%H:%M:%SZ)"
    is 3 --max-age 2d "$nodes"
    [[ "$stderr" == *'older than 2d'* ]]
    is 1 --max-age=73h "$nodes"
    is 3 --host nowhere "$nodes"
    verdict_of good today
    is 2 "$nodes"
    for day in today 2025-02-29T00:00:00Z 2025-13-01T00:00:00Z 2025-04-31T00:00:00Z 2025-01-00T00:00:00Z \
        2025-01-01T24:00:00Z \
        "$(date -u -d '+1 hour' +%Y-%m-%dT%H:%M:%SZ)"; do
        verdict_of pass "$day"
        is 2 "$nodes"
    done
    # clocks may differ by a minute
    verdict_of pass "$(date -u -d '+1 minute' +%Y-%m-%dT%H:%M:%SZ)"
    is 0 --max-age 1h "$nodes"
    verdict_of pass 2024-02-29T23:59:59Z
    is 0 "$nodes"
    for words in '--max-age soon' '--max-age 99999999999999999d' '--max-age 36601d' \
        '--max-age 9223372036854775807s' '--host ../x' '--drain' 'a b' '/nowhere/at/all'; do
        is 2 $words
    done
}
