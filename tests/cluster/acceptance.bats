#!/usr/bin/env bats
# noiselab run acceptance on three nodes of the test cluster. They share the CPUs of this machine: launches
# are short, the loads heavy, and nothing is judged by a time that other work on the machine could spoil.

load cluster

setup_file() {
    cluster_up 3
    # ranks that share a CPU wait for each other's turn
    export OMPI_MCA_mpi_yield_when_idle=1
}

# acceptance WORDS: in an allocation of all nodes; its status is in status, its answer in $TEXT
acceptance() {
    status=0
    on_login salloc --quiet --nodes=3 "$BIN/noiselab" run acceptance --out "$OUT" "$@" >"$TEXT" 2>"$ERR" ||
        status=$?
}

hosts_of() { jq -r '[.hosts[].host] | join(",")' "$@"; }

@test "a flipped byte fails the run, nodes are turned, the loaded one is found, and each has its verdict" {
    acceptance --no-report --checks integrity,detour:inject-fault=0:1:100 --seconds 1s --launches 2 \
        --self-check 40:4s --seed 4
    [ "$status" -eq 1 ]
    # rank 0 sent, rank 1 received: by the order of the nodes other nodes in the second launch
    [ "$(hosts_of "$OUT"/*-0001/launch.json)" = node1,node2,node3 ]
    [ "$(hosts_of "$OUT"/*-0002/launch.json)" = node2,node3,node1 ]
    [ "$(sed 1d "$OUT"/*-000[12]/mismatches.csv | cut -d , -f 1,4,6 | sort -u |
        grep -c -e ',node1,node2$' -e ',node2,node3$')" -eq 2 ]
    grep -q 'integrity' "$TEXT"
    jq -e '.verdict == "fail"' "$OUT/verdict.json"
    chosen=$(jq -r .options.noise_nodes "$OUT"/*-selfcheck/launch.json)
    [ "node$(sed -n 's/.*--noise-node=\([0-9]*\).*/\1/p' "$OUT/schedule.tsv")" = "$chosen" ]
    jq -e --arg chosen "$chosen" '.self_check.verdict == "pass" and .self_check.chosen == $chosen' \
        "$OUT/verdict.json"
    for node in node1 node2 node3; do
        head -n 1 "$OUT/nodes/$node.txt" | grep -qxE 'verdict: (pass|fail|inconclusive)'
        sed -n 2p "$OUT/nodes/$node.txt" | grep -qE '^ended_utc: 20'
    done
    ends 1 "$BIN/noiselab-node-health" --host node2 --max-age 1h "$OUT/nodes" >"$TEXT"
    grep -q '^scontrol update NodeName=node2 State=DRAIN Reason="noiselab: ' "$TEXT"
    ends 1 "$BIN/noiselab" run acceptance --finish "$OUT" --lines >"$TEXT"
    grep -qx 'verdict: fail' "$TEXT"
}

# batch_script WORD...: acceptance.sbatch with its variables set as a user would; each word is NAME=VALUE
batch_script() {
    set -- "noiselab=$BIN/noiselab" "$@"
    cp "$BIN/../libexec/noiselab/acceptance.sbatch" "$BATS_TEST_TMPDIR/acceptance.sbatch"
    for word in "$@"; do
        grep -q "^${word%%=*}=" "$BATS_TEST_TMPDIR/acceptance.sbatch"
        sed -i "s|^${word%%=*}=.*|$word|" "$BATS_TEST_TMPDIR/acceptance.sbatch"
    done
}

@test "the batch script makes a reference, and what is held against it has one answer for all readers" {
    local good="$BATS_TEST_TMPDIR/good" junit="$BATS_TEST_TMPDIR/junit.xml"
    batch_script "campaign=$good" checks=integrity,detour seconds=1500ms repetitions=5 launches=1 limits= \
        'self_check=none' 'job_options=(--no-report)'
    job_is_over "$(cd "$BATS_TEST_TMPDIR" &&
        on_login sbatch --parsable --nodes=3 --output=job.out acceptance.sbatch)"
    # pass or inconclusive, as the machine is busy; the nodes that share a CPU may differ
    [ "$status" -ne 2 ]
    jq -e '.checks[] | select(.check == "integrity") | .verdict == "pass"' "$good/verdict.json"

    printf '%s\n' '# of this site' 'detour.all.longest <= 1 ns' >"$BATS_TEST_TMPDIR/limits"
    acceptance --checks integrity,detour --seconds 1500ms --repetitions 5 --launches 1 --self-check none \
        --limits "$BATS_TEST_TMPDIR/limits" \
        --reference "$good" --json --junit "$junit"
    [ "$status" -eq 1 ]
    cmp "$TEXT" "$OUT/verdict.json"
    # no CPU is without a gap of 1 ns; the reference has judged each node, too
    jq -e '[.judgements[] | select(.source == "limits.conf:2")] | length == 3 and all(.verdict == "fail")' \
        "$TEXT"
    jq -e '[.judgements[] | select(.source | startswith("reference, n = ")) | .entity] |
        unique == ["node1", "node2", "node3"]' "$TEXT"
    jq -e '.verdict == "fail" and .self_check.verdict != "pass" and
        ([.nodes[].verdict] == ["fail", "fail", "fail"])' "$TEXT"
    python3 - "$junit" <<'END'
import sys
import xml.etree.ElementTree as tree
suite = tree.parse(sys.argv[1]).getroot()
cases = {(case.get('classname'), case.get('name')): [child.tag for child in case]
         for case in suite.iter('testcase')}
print(suite.attrib, cases)
suite = suite if suite.tag == 'testsuite' else suite.find('testsuite')
assert int(suite.get('tests')) == len(cases), 'every case is counted once'
assert int(suite.get('failures')) == sum('failure' in inner for inner in cases.values()) > 0
assert cases['noiselab.acceptance', 'integrity'] == []
assert cases['noiselab.acceptance', 'detour'] == ['failure']
assert all(cases['noiselab.node', f'node{k}'] == ['failure'] for k in (1, 2, 3))
END
    grep -q 'Verdicts by node and check' "$OUT/report.html"
    grep -q 'limits.conf:2' "$OUT/report.html"
    for node in node1 node2 node3; do [ "$(head -n 1 "$OUT/nodes/$node.txt")" = 'verdict: fail' ]; done
    "$BIN/noiselab" compare "$good" "$OUT" >"$TEXT"
    grep -q 'detour' "$TEXT"
}
