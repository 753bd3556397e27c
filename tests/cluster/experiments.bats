#!/usr/bin/env bats
# noiselab run on a Slurm cluster: batch jobs, arrays, interruption and going on, and what Slurm refuses.
# Nodes share the CPUs of this machine: launches are short, and nothing is judged by its time.

load cluster

setup_file() { cluster_up 3; }

teardown() {
    tell
    [ -z "$LEFT_OUT" ] || return 0
    # a failed test leaves its jobs to nobody
    on_login scancel --quiet --full --user=root 2>/dev/null || true
    wait_until 120 queue_is_empty
}

# experiment NAME ARGUMENTS: on the login node, everything it says into $TEXT
experiment() { on_login "$BIN/noiselab" run "$@" >"$TEXT" 2>&1; }

# barriers OPTIONS: a sensitivity experiment that is as short as possible, with time for a machine that is
# busy
barriers() {
    experiment sensitivity --out "$OUT" --op barrier --bytes 8 --levels 5 --no-report --submit --time 30 \
        --warmup 0s "$@"
}

# in_job NODES EXPERIMENT ARGUMENTS: within an allocation
in_job() { on_login salloc --quiet --nodes="$1" "$BIN/noiselab" run "${@:2}" >"$TEXT" 2>&1; }

# refused WANTED COMMAND...: status 2 and one line that holds WANTED, no campaign
refused() {
    ends 2 "${@:2}"
    [ "$(grep -v '^noiselab-run: plan: ' "$TEXT" | grep -c '^noiselab-run: ')" -eq 1 ]
    grep -qF -- "$1" "$TEXT"
    [ ! -e "$OUT" ]
}

# job_ended: the job that was submitted last is over; its exit status is in status
job_ended() {
    id=$(sed -n 's/^job \([0-9]*\): .*/\1/p' "$TEXT" | tail -n 1)
    [ -n "$id" ]
    job_is_over "$id"
}

# runs NUMBER: the launch with that number of the schedule writes rows
runs() { [ "$(cat "$OUT"/*-000"$1"/halves.csv 2>/dev/null | wc -l)" -gt 1 ]; }

job() { on_login squeue --noheader --format=%A | head -n 1; }

said() { cat "$OUT"/slurm-*.out; }

# is_whole: exactly the planned launches, each complete
is_whole() {
    said
    sed '1,/^launch\t/d' "$OUT/schedule.tsv" | cut -f 1 | sort >"$BATS_TEST_TMPDIR/planned"
    for file in "$OUT"/*/launch.json; do
        jq -r 'select(.ended == "complete") | .launch' "$file"
    done | sort >"$BATS_TEST_TMPDIR/taken"
    [ -s "$BATS_TEST_TMPDIR/planned" ]
    cmp "$BATS_TEST_TMPDIR/planned" "$BATS_TEST_TMPDIR/taken"
    [ "$(find "$OUT" -mindepth 2 -maxdepth 2 -name launch.json | wc -l)" \
        -eq "$(wc -l <"$BATS_TEST_TMPDIR/planned")" ]
    [ ! -e "$OUT/claims" ]
}

hosts_of() { jq -r '.hosts[].host' "$@" | sort -u | paste -sd , -; }

# node2 has a CPU of its own; node1 and node3 share the other one. The noise is heavy: other work on this
# machine must not hide it
@test "a job on three nodes finds the noise on its node, and who waits for it gets its answer's status" {
    ends '1|3' barriers --wait --nodes 3 --levels 50 --seconds 2 --half-period 100ms --noise-nodes node2 \
        --on rank:0 --margin 0.0001
    is_whole
    # no run this short can tell that a slowdown is below a ten-thousandth of a percent; the status is that of
    # the answer
    grep -q "^Margin of .*: $([ "$status" -eq 1 ] && echo fail || echo inconclusive), " "$OUT"/slurm-*.out
    [ "$(hosts_of "$OUT"/*/launch.json)" = node1,node2,node3 ]
    [ "$(jq -r .ranks "$OUT"/*/launch.json | sort -u)" = 3 ]
    grep -q "^job $(jq -r .slurm.SLURM_JOB_ID "$OUT"/*/launch.json | sort -u): " "$TEXT"
    "$BIN/noiselab" analyze nodes "$OUT" >"$TEXT"
    # ranks that share a CPU give it up for others that wait: with a heavy load on one node the others may
    # lose a little, too
    head -n 1 "$TEXT" | grep -qE '^The noise is on (node2(\.$|; traces of it on )|.*, most on node2 )'
}

@test "advise in a job turns nodes and noise, tries its rule on both nodes, and says where it holds" {
    ends '0|3' in_job 2 advise --out "$OUT" --op alltoall --bytes 64 --arrival none --seconds 16 \
        --launches 4 --warmup 0s --seed 4 --no-report
    # who has rank 0, and who the noise: each with each
    [ "$(jq -r '.hosts[0].host + " " + .options.noise_nodes' "$OUT"/*/launch.json | sort | paste -sd ,)" = \
        'node1 node1,node1 node2,node2 node1,node2 node2' ]
    # the analysis of a campaign of which one algorithm takes a quarter of the time
    a_quarter 'linear$' "$OUT"/*/halves.csv
    in_job 2 advise --resume "$OUT" --no-report
    grep -qx 'with alltoall 64 2 default alltoall_intra_basic_linear 2' "$OUT/advice.tried"
    grep -q '^To select it (holds for Open MPI v[0-9.a-z]*, 2 ranks on 2 nodes; ' "$TEXT"
    # the rule is for the size of both ranks together
    grep -qx '128 1 0 0' "$OUT/advice.rules"
}

@test "the script of a job says what was asked for, and is shown as it is submitted" {
    barriers --dry-run --nodes 2 --seconds 3 --launches 4 --partition main --sbatch "--qos='it'\\''s'" \
        --sbatch '--comment=two words' --noise-nodes first
    [ ! -e "$OUT" ]
    # what it can see is said beside the script, not in it
    sed -i '/^noiselab-run: plan: /d' "$TEXT"
    bash -n "$TEXT"
    for line in '#SBATCH --nodes=2' '#SBATCH --partition=main' "#SBATCH --qos='it'\\''s'" \
        '#SBATCH --comment=two words' '#SBATCH --exclusive' '#SBATCH --mem=0' \
        '#SBATCH --signal=B:TERM@60' '#SBATCH --requeue'; do
        grep -qxF -- "$line" "$TEXT"
    done
    sed -n '/^# --- parameters/,/^# --- end/p' "$TEXT" >"$BATS_TEST_TMPDIR/parameters"
    [ "$(. "$BATS_TEST_TMPDIR/parameters" &&
        echo "$op $levels $seconds $launches $campaign ${options[*]} ${job_options[*]}")" = \
        "barrier 5 3 4 $OUT --warmup 0s --noise-nodes first --no-report" ]
}

@test "each task of an array runs one launch of one campaign, and a job after them answers" {
    barriers --array --nodes 1 --seconds 300ms --launches 3 --margin 0.0001
    job_ended
    is_whole
    [ "$status" -eq 1 ] || [ "$status" -eq 3 ]
    [ "$(ls "$OUT"/slurm-*_[123].out | wc -l)" -eq 3 ]
    [ "$(jq -r .slurm.SLURM_ARRAY_TASK_ID "$OUT"/*/launch.json | paste -sd ' ' -)" = '1 2 3' ]
    grep -q '^#SBATCH --array=1-3%1$' "$OUT/job.sbatch"
}

@test "a cancelled job ends its launch with its rows, and a resumed one takes exactly what is missing" {
    barriers --nodes 2 --seconds 1500ms --launches 3
    wait_until 120 runs 2
    on_login scancel "$(job)"
    wait_until 120 queue_is_empty
    said
    grep -q '^noiselab-run: interrupted; .*--resume' "$OUT"/slurm-*.out
    [ "$(jq -r .ended "$OUT"/*-0001/launch.json)" = complete ]
    [ "$(jq -r .ended "$OUT"/*-0002/launch.json)" = interrupted ]
    first=$(cksum "$OUT"/*-0001/halves.csv)
    experiment sensitivity --resume "$OUT" --submit --nodes 1
    job_ended
    is_whole
    [ "$(jq -r .nodes "$OUT"/*-000[123]/launch.json | paste -sd ' ')" = '2 1 1' ]
    grep -q 'planned on 2 node(s), and run on 1' "$OUT"/slurm-*.out
    [ "$first" = "$(cksum "$OUT"/*-0001/halves.csv)" ]
    [ "$(jq -r .ended "$OUT"/partial/*-0002.1/launch.json)" = interrupted ]
}

@test "a job that is put back into the queue goes on by itself" {
    barriers --nodes 2 --seconds 1500ms --launches 2
    wait_until 120 runs 2
    on_login scontrol requeue "$(job)"
    wait_until 120 queue_is_empty
    is_whole
    grep -q '^noiselab-run: 1 of 2 planned launches are complete' "$OUT"/slurm-*.out
    [ "$(ls -d "$OUT"/partial/*-0002.1)" ]
}

@test "sets of nodes are taken in random order, each on its nodes" {
    in_job 2 reproducibility --node-sets 1 --op barrier --bytes 8 --seconds 300ms --warmup 0s --ranks 1 \
        --launches 2 --seed 3 --out "$OUT" --no-report
    [ "$(sed '1,/^launch\t/d' "$OUT/schedule.tsv" | cut -f 2,3 | sort | paste -sd ' ' - | tr '\t' :)" = \
        '1:node1 1:node2 2:node1 2:node2' ]
    sed '1,/^launch\t/d' "$OUT/schedule.tsv" | while IFS=$(printf '\t') read -r launch _ nodes _; do
        [ "$(hosts_of "$OUT/$launch/launch.json")" = "$nodes" ]
    done
    ! experiment reproducibility --node-sets 1 --out "$OUT.2" || false
    grep -q 'needs a Slurm job' "$TEXT"
}

@test "mpirun within an allocation measures on the same nodes" {
    in_job 2 sensitivity --launcher mpirun --op barrier --bytes 8 --levels 5 --seconds 300ms --warmup 0s \
        --out "$OUT" --no-report || true
    [ "$(jq -r .ended "$OUT"/*/launch.json)" = complete ]
    [ "$(hosts_of "$OUT"/*/launch.json)" = node1,node2 ]
    [ "$(jq -r .slurm.SLURM_STEP_ID "$OUT"/*/launch.json)" != null ] ||
        [ "$(jq -r .slurm.SLURM_JOB_ID "$OUT"/*/launch.json)" != null ]
}

@test "a time that cannot hold the launches is refused with one that can, and what Slurm lacks in one line" {
    refused "partition 'short' ends jobs after 0:02:00" barriers --partition short --seconds 600
    refused '--time: 2 is too short' barriers --time 2 --seconds 600
    ends 2 on_login salloc --quiet --nodes=1 --time=2 \
        "$BIN/noiselab" run sensitivity --op barrier --levels 1 --seconds 200 --out "$OUT" >"$TEXT" 2>&1
    grep -E 'the 1 launch\(es\) that are left take some 3 min, and this job ends in ' "$TEXT" |
        grep -qE ' ask for --time=0:0[0-9]:00'
    [ -s "$OUT/schedule.tsv" ]
    [ ! -e "$OUT/claims" ]
    rm -r "$OUT"
    refused "--partition: 'nosuch' is not a partition here (main,short)" barriers --partition nosuch \
        --seconds 1
    refused "--nodes: 9 nodes asked for, and partition 'main' has 3" barriers --nodes 9 --seconds 1
    refused 'sbatch: ' barriers --seconds 1 --sbatch '--constraint=nothing'
    refused 'sbatch: ' barriers --seconds 1 --sbatch '--no-such-option'
    refused '--nodes: 2 nodes asked for, and job' in_job 1 sensitivity --nodes 2 --op barrier --seconds 1 \
        --out "$OUT"
    refused "--node-sets: 'node9' is not a node of job" in_job 2 sensitivity --node-sets 'node1;node9' \
        --op barrier --seconds 1 --out "$OUT"
    refused "'2x' is not a positive whole number" barriers --nodes 2x --seconds 1
}

@test "ranks that do not find each other are reported, and not taken for a measurement" {
    NOISELAB_SRUN_MPI=none ends 2 in_job 2 sensitivity --op barrier --levels 5 --seconds 1 --out "$OUT" \
        --no-report
    grep -q '^noiselab-run: .*NOISELAB_SRUN_MPI' "$TEXT"
}

@test "the agent experiment has launches with Slurm's accounting and launches without, on the same nodes" {
    experiment agent --submit --time 30 --nodes 2 --op barrier --bytes 8 --seconds 300ms --warmup 0s \
        --launches 2 --out "$OUT" --no-report
    job_ended
    is_whole
    [ "$status" -eq 0 ]
    [ "$(jq -r .options.external "$OUT"/*/launch.json | sort -u)" = slurm-accounting ]
    [ "$(jq -r .options.arms "$OUT"/*/launch.json | sort | paste -sd ' ' -)" = 'off off on on' ]
    [ "$(jq -r '.slurm.account_sampling + " " + .options.arms' "$OUT"/*/launch.json |
        sort -u | paste -sd , -)" = 'task=0 off,task=1 on' ]
    grep -q slurm-accounting "$OUT"/slurm-*.out
}
