#!/usr/bin/env bats
# noiselab run agent on one machine without Slurm: what is planned for an agent that is switched within the
# launches, and what is refused.

load run

# run_agent ARGUMENTS: launches of one rank and a second
run_agent() {
    "$BIN/noiselab" run agent --ranks 1 --op empty --out "$OUT" --no-report "$@" >"$BATS_TEST_TMPDIR/stdout" \
        2>"$ERR" 3>&-
}

# submit_agent ARGUMENTS: plans the launches for a Slurm that is not there, and so starts none
submit_agent() {
    slurm_stub sinfo <<<"echo 'main* infinite 8'"
    slurm_stub sbatch <<<'echo 1'
    "$BIN/noiselab" run agent --submit --op empty --ranks 2 --out "$OUT" "$@" >"$BATS_TEST_TMPDIR/stdout" \
        2>"$ERR" 3>&-
}

# words_of OPTION: its value in each planned launch, in their order
words_of() {
    sed '1,/^launch\t/d' "$OUT/schedule.tsv" |
        awk -F '\t' -v name="$1" \
        '{ value = "-"; for (i = 5; i < NF; i++) if ($i == name) value = $(i + 1); print value }'
}

# quietly COMMAND...: what it says goes where run_refused looks
quietly() { "$@" >"$BATS_TEST_TMPDIR/stdout" 2>"$ERR" 3>&-; }

key() { sed -n "s/^# $1: //p" "$OUT/schedule.tsv"; }

busy() { printf '%s %s %s' "${BIN%/bin}/bench/bench_busy" "$1" "$2"; }

# bats test_tags=quick
@test "exactly one way of switching an agent is taken, and what the companion refuses is said at first" {
    run_refused '--agent-cmd and --agent-pid: two ways' run_agent --agent-cmd 'sleep 9' --agent-pid 1
    run_refused '--agent-found: there is no agent' run_agent --agent-found on --treatment slurm-accounting
    run_refused "--agent-found: 'on' does not say at which interval of --sweep" run_agent \
        --agent-on 'echo @INTERVAL@' --agent-off true --agent-found on --sweep 1s,10s
    run_refused '--treatment and --agent-pid cannot be combined' run_agent --agent-pid 1 \
        --treatment slurm-accounting
    run_refused '--who: there is no agent' run_agent --who none --treatment slurm-accounting
    run_refused '--agent-period: belongs to an agent' run_agent --treatment slurm-accounting --agent-period 1s
    run_refused "--treatment: 'every=3' is not a key of it (interval)" run_agent \
        --treatment slurm-accounting:every=3
    run_refused "--treatment: 'nosuch' is not a treatment (try slurm-accounting)" run_agent --treatment nosuch
    run_refused 'which agent? Give --agent-cmd' run_agent
    run_refused "--design: 'single' cannot switch an agent within a launch" run_agent --agent-pid 1 \
        --design single
    run_refused '--block: design lockin has --half-period' run_agent --agent-pid 1 --design lockin --block 1s
    run_refused "--agent-period: 'often' is not a time" run_agent --agent-pid 1 --agent-period often
    run_refused '--arms: the experiment sets it' run_agent --agent-pid 1 --arms on
    [ ! -e "$OUT" ]
    run_refused '--scrape does not tell whose bursts to record' run_agent --scrape true --scrape-period 1s \
        --compare-replay
    run_refused '--agent-on does not tell whose bursts to record' run_agent --agent-on true --agent-off true \
        --compare-replay
    run_refused '--levels: --compare-replay decides it' run_agent --agent-pid 1 --compare-replay --levels 1
    run_refused "--compare-replay: '10' is not a time with its unit" run_agent --agent-pid 1 \
        --compare-replay=10
    run_refused '--compare-replay and --sweep cannot be combined' run_agent --agent-cmd 'sleep @INTERVAL@' \
        --sweep 1s --compare-replay
    run_refused "noiselab-nosuch" run_agent --agent-cmd 'noiselab-nosuch --fast' --agent-period 100ms
    [ ! -e "$OUT" ]
    run_refused "--stop-when: 'soon' is not never or decided" run_agent --agent-pid $$ --stop-when soon
    run_refused '--stop-when decided: what is to be decided? Give --margin' run_agent --agent-pid $$ \
        --stop-when decided --launches 3
    run_refused 'looks are taken between launches; give --launches' run_agent --agent-pid $$ \
        --stop-when decided --margin 1
    run_refused '--sweep and --stop-when decided cannot be combined' run_agent \
        --agent-cmd 'sleep @INTERVAL@' --sweep 1s,2s --stop-when decided \
        --margin 1 --launches 3
    run_refused '--stop-when: belongs to an agent' run_agent --treatment slurm-accounting --stop-when decided
}

# bats test_tags=quick
@test "a margin that is none, or that would not be judged, is refused in one line before anything is made" {
    local margin
    for margin in 0 0,5 0.0% -1 1%% much 1.2.3; do
        run_refused "--margin: '$margin' is not a margin in percent above 0 (try 1%, or \
1%:nodes=1000,every=1ms)" run_agent --agent-pid $$ --margin "$margin"
    done
    for margin in nodes nodes=0 nodes=1e3 every=1 every=0ms ranks=2; do
        run_refused "--margin: '$margin' is none of nodes=N, every=TIME, unseen=TIME" run_agent \
            --agent-pid $$ --margin "1%:$margin"
    done
    run_refused 'does not say how many nodes synchronise how often' run_agent --agent-pid $$ \
        --margin 1%:nodes=1000
    run_refused 'is of many nodes, which run sensitivity does not judge (run agent, run acceptance' \
        quietly "$BIN/noiselab" run sensitivity --levels 1 --margin 1%:nodes=1000,every=1ms --out "$OUT"
    run_refused 'which run agent with --sweep does not judge (run' run_agent --agent-cmd 'sleep @INTERVAL@' \
        --sweep 1s,2s --margin 1%:nodes=1000,every=1ms
    run_refused 'which run agent with --stop-when does not judge (run' run_agent --agent-cmd 'sleep 99' \
        --launches 3 --stop-when decided --margin 1%:nodes=1000,every=1ms
    [ ! -e "$OUT" ]
    # and what is judged is planned, with its words for the analysis
    run_agent --dry-run --agent-cmd 'sleep 99' --agent-period 1s --margin 1%:nodes=1000,every=1ms
}

@test "a sweep needs a place for its interval; a list of agents is refused line by line" {
    template=$BATS_TEST_TMPDIR/agent.conf
    echo 'Interval 10' >"$template"
    run_refused 'no @INTERVAL@ in what --agent-pid switches' run_agent --agent-pid 1 --sweep 1s,10s
    run_refused 'no @INTERVAL@ in --agent-cmd, and no template' run_agent --agent-cmd 'sleep 9' --sweep 1s
    run_refused "--sweep: '1000ms' is there twice" run_agent --agent-cmd 'sleep @INTERVAL@' --sweep 1s,1000ms
    run_refused '@INTERVAL@ and @FILE@ belong to --sweep' run_agent --agent-cmd 'sleep @INTERVAL@'
    run_refused "cannot read '$template.not'" run_agent --agent-cmd 'sleep @FILE@' \
        --sweep "1s:template=$template.not"
    run_refused "'$template' has no @INTERVAL@ in it" run_agent --agent-cmd 'sleep @FILE@' \
        --sweep "1s:template=$template"
    echo 'Interval @INTERVAL@' >"$template"
    run_refused 'no command has @FILE@' run_agent --agent-cmd 'sleep 9' --sweep "1s:template=$template"
    run_refused '@FILE@ is the file made of --sweep LIST:template=FILE, and there is none' run_agent \
        --agent-cmd 'sleep @FILE@' --sweep 1s
    run_refused '--agent-period: with --sweep the interval is the period' run_agent \
        --agent-cmd 'sleep @INTERVAL@' --sweep 1s --agent-period 1s
    [ ! -e "$OUT" ]
    list=$BATS_TEST_TMPDIR/agents.conf
    refused_list() {
        printf '%s\n' "${@:2}" >"$list" && run_refused "--agents: '$list'$1" run_agent --agents "$list"
    }
    run_refused "--agents: cannot read '$list'" run_agent --agents "$list"
    refused_list ' names no agent' '# none'
    refused_list ", line 2: 'a/b' is not a name" '# agents' "a/b --agent-cmd 'sleep 9'"
    refused_list ", line 2: 'one' is there twice, first in line 1" "one --agent-cmd 'sleep 9'" \
        "one --agent-cmd 'sleep 8'"
    refused_list ", line 1 (one): no way of switching it" 'one --agent-period 1s'
    refused_list ", line 1 (one): --seconds: not an option of an agent" \
        "one --agent-cmd 'sleep 9' --seconds 3"
    refused_list ", line 1 (one): 'more': not an option of an agent" "one --agent-cmd 'sleep 9' more"
    refused_list ", line 1 (one): --agent-cmd and --agent-pid: two ways" \
        "one --agent-cmd 'sleep 9' --agent-pid 1"
    refused_list ", line 2 (two): --agent-name: the first word" "one --agent-cmd 'sleep 9'" \
        "two --agent-name x --agent-cmd 'sleep 9'"
    echo "one --agent-cmd 'sleep 9' --agent-period 1s" >"$list"
    run_refused '--agent-cmd: belongs to an agent' run_agent --agents "$list" --agent-cmd 'sleep 9'
    run_refused '--levels and --agents cannot be combined' run_agent --agents "$list" --levels 1
    [ ! -e "$OUT" ]
}

@test "a sweep plans launches of each interval in random order, and makes a file for each" {
    mkdir "$BATS_TEST_TMPDIR/my conf"
    template="$BATS_TEST_TMPDIR/my conf/agent x.conf"
    printf 'Interval @INTERVAL@\nAgain "@INTERVAL@"\n' >"$template"
    submit_agent --agent-cmd 'agentd -f -C @FILE@' --restart --sweep "0.1s,1s,60s:template=$template" \
        --launches 4 --seed 5 --margin 0.1
    # once each in every round, and not always in the same order
    words_of --agent-period | sed "s/.*interval=//" | paste -d ' ' - - - >"$BATS_TEST_TMPDIR/rounds"
    [ "$(tr ' ' '\n' <"$BATS_TEST_TMPDIR/rounds" | sort | uniq -c | xargs)" = '4 0.1s 4 1s 4 60s' ]
    [ "$(sort -u "$BATS_TEST_TMPDIR/rounds" | wc -l)" -gt 1 ]
    [ "$(head -n 1 "$BATS_TEST_TMPDIR/rounds" | tr ' ' '\n' | sort | xargs)" = '0.1s 1s 60s' ]
    # the words of a launch name the file that is there, and its stretches hold whole intervals
    [ "$(words_of --agent-cmd | sort -u | cut -d ' ' -f 1-3 | sort -u)" = 'agentd -f -C' ]
    for file in $(words_of --agent-cmd | sort -u | cut -d ' ' -f 4); do
        grep -qE '^Interval (0\.1|1|60)$' "$file"
    done
    [ "$(words_of --agent-cmd | sort -u | wc -l)" -eq 3 ]
    [ "$(grep -h Again "$OUT"/agent/* | sort | paste -sd ' ' -)" = 'Again "0.1" Again "1" Again "60"' ]
    [ "$(words_of --agent-period | sort -u | paste -sd ' ' -)" = \
        '1000000000ns:interval=1s 100000000ns:interval=0.1s 60000000000ns:interval=60s' ]
    [ "$(words_of --block | sort -u | paste -sd ' ' -)" = '2000000000ns 60000000000ns' ]
    [ "$(words_of --agent-settle | sort -u | paste -sd ' ' -)" = '1050000000ns 1500000000ns 30000000000ns' ]
    [ "$(key analyses)" = intervals ]
    [ "$(key agent_intervals)" = 0.1s,1s,60s ]
    grep -qx "agent_cmd='agentd -f -C @FILE@'  # .*" "$OUT/job.sbatch"
    grep -q "^sweep='0.1s,1s,60s:template=" "$OUT/job.sbatch"
    # an interval of a scrape is its period
    rm -r "$OUT"
    submit_agent --scrape 'curl -s localhost:9100/metrics' --sweep 1s,5s --launches 3
    [ "$(words_of --scrape-period | sort -u | xargs) $(words_of --half-period | sort -u | xargs)" = \
        '1s 5s 1000000000ns 5000000000ns' ]
}

@test "a list of agents has launches of each in one random order, and a row of each in the answer" {
    needs_cpus 2
    printf '%s\n' '# name  options' \
        "heavy  --agent-cmd '$(busy 4ms 20ms)' --agent-period 20ms --block 200ms --agent-settle 10ms \
--agent-cpu 0" \
        "light  --agent-cmd '$(busy 10us 20ms)' --agent-period 20ms --block 200ms --agent-settle 10ms" \
            >"$BATS_TEST_TMPDIR/agents.conf"
    ends '1|3' run_agent --agents "$BATS_TEST_TMPDIR/agents.conf" --launches 2 --seconds 1 --warmup 0s \
        --seed 4 --margin 0.001
    [ "$(grep -c 'the machine was busy' "$BATS_TEST_TMPDIR/stdout")" -le 1 ]
    [ "$(grep -c ' is like$' "$BATS_TEST_TMPDIR/stdout")" -eq 0 ]
    # the answer alone is the screen
    grep -qFx "noiselab-run: a load that imitates the agent: noiselab analyze equivalent $OUT" "$ERR"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/stdout")" -le 24 ]
    [ "$(key agents)" = heavy,light ]
    [ "$(words_of --agent-name | sort | uniq -c | xargs)" = '2 heavy 2 light' ]
    [ "$(words_of --seed | sort -u | wc -l)" -eq 4 ]
    [ "$(jq -r .ended "$OUT"/*/launch.json | sort -u)" = complete ]
    [ "$(grep -oE '^ *(heavy|light) +20 ms' "$BATS_TEST_TMPDIR/stdout" | sort | xargs)" = \
        'heavy 20 ms light 20 ms' ]
}

@test "what only the nodes can tell is planned there" {
    run_refused 'the agent is recorded on the nodes' submit_agent --agent-unit agent.service --array --time 30
    submit_agent --agent-unit agent.service --compare-replay --shell --time 30
    [ ! -e "$OUT/schedule.tsv" ]
    grep -qx "agent_unit=agent.service  # .*" "$OUT/job.sbatch"
    grep -q '^options=(.*--shell.*--compare-replay' "$OUT/job.sbatch"
}

@test "an agent that can be frozen is; it is recorded, its period measured, and --seconds holds all of it" {
    run_refused '--restart: nothing is started' run_agent --agent-pid 1 --restart
    for how in quick lockin blocks; do
        case $how in
        quick) submit_agent --agent-cmd 'sleep 9' --agent-period 1s --op barrier ;;
        lockin) submit_agent --agent-pid 1 --agent-period 1s --op barrier --levels 1 ;;
        blocks) submit_agent --agent-on true --agent-off true --agent-period 1s --op barrier ;;
        esac
        [ "$(words_of --design)" = "$how" ]
        [ "$how" != quick ] || ! grep 'of settling after switches' "$ERR" || false
        [ "$how" != quick ] || grep -q 's of measuring (settling included)' "$ERR"
        rm -rf "$OUT"
    done
    # what a recording leaves too short is refused before it, with what is enough
    local three=(--agent-cmd 'sleep 9' --op barrier,allreduce,alltoall)
    ends 2 run_agent "${three[@]}" --seconds 10s --dry-run
    grep -q 'too short.*give at least 17 s, or its period (--agent-period)' "$ERR"
    ends 2 run_agent "${three[@]}" --seconds 10s
    ! grep 'recording the agent for' "$ERR" || false
    ends 0 run_agent "${three[@]}" --seconds 17s --dry-run
    # recorded for as long as a third of the time allows, which is taken off the launch's
    ends 0 run_agent --agent-cmd "$(busy 1ms 50ms)" --op barrier --seconds 9s --no-report
    [[ "$(words_of --seconds)" =~ ^[4-7](\.[0-9]+)?s$ ]]
    grep -q 'recording the agent for 5 s' "$ERR"
    awk -v p="$(key agent_period_ns)" 'BEGIN { exit !(p > 49.5e6 && p < 50.5e6) }'
    [ "$(key agent_period_source)" = 'measured in 5 s' ]
    launch=$OUT/$(planned)/launch.json
    [ "$(jq -r .options.agent_period_ns "$launch")" = "$(key agent_period_ns)" ]
    # a busy machine has few halves, and no verdict
    awk -F , 'NR > 1 { n++; asked += $7 == "on" && $8 != "" } END { exit !(n > 0 && asked == 0) }' \
        "${launch%launch.json}halves.csv"
    jq -e '.ended == "complete" and .options.design == "quick" and .options.freeze and
        (.agents[0] | .name == "bench_busy" and .restarted == false and .freezer != null and
            .state_left == "not started")' "$launch"
    ! pgrep -f "$(busy 1ms 50ms)" || false
}

@test "an agent has one launch of a minute, and --seconds is the time of all launches" {
    submit_agent --agent-cmd 'sleep 9' --agent-period 1s --op barrier --restart
    [ "$(planned | wc -l)" -eq 1 ]
    [ "$(words_of --seconds | sort -u)" = 60s ]
    grep -q 'plan: 1 launch, total 117 s: 60 s of measuring, 45 s of settling after switches, ' "$ERR"
    ! grep -q 'for these launches only' "$ERR" || false
    rm -rf "$OUT"
    submit_agent --agent-cmd 'sleep 9' --agent-period 1s --launches 5 --op barrier
    [ "$(planned | wc -l) $(words_of --seconds | sort -u)" = '5 30s' ]
    ! grep -q 'for these launches only' "$ERR" || false
    rm -rf "$OUT"
    submit_agent --agent-cmd 'sleep 9' --agent-period 1s --launches 3 --seconds 2min
    grep -q -- '--launches 3: the result holds for these launches only' "$ERR"
    [ "$(words_of --seconds | sort -u)" = 40000000000ns ]
}

# rehearsed ARGUMENTS: a dry run; what it says is in $ERR
rehearsed() {
    "$BIN/noiselab" run agent --dry-run --ranks 1 --op barrier --out "$OUT" \
        --seed 1 "$@" >"$BATS_TEST_TMPDIR/stdout" 2>"$ERR" 3>&-
}

# said: the lines of the plan
said() { sed -n 's/^noiselab-run: plan: //p' "$ERR"; }

@test "a dry run says how many launches there are, their time, and what each interval gets, as a run does" {
    rehearsed --agent-cmd 'sleep @INTERVAL@' --sweep 10s,1s --restart --launches 2 --seconds 80s
    [ "$(said | head -n 1)" = \
        "4 launches, total 4 min 38 s: 2 min 40 s of measuring, 100 s of settling after switches, 8 s to \
start and switch, 10 s for the answer; seed 1; into '$OUT'" ]
    [ "$(said | tail -n 1)" = \
        "every 10s: 2 launches, 80 s of measuring and 40 s of settling; every 1s: 2 launches, 80 s of \
measuring and 60 s of settling" ]
    # the detector's own plan of such a launch has the same settling
    grep -q 'up to 4 switches with 5 s of settling each are added' "$BATS_TEST_TMPDIR/stdout"
    # settling is what the detector adds, whose half has a default of its own
    sleep 60 3>&- &
    local agent=$!
    rehearsed --agent-pid "$agent" --design lockin --seconds 20s
    settle=$("$BIN/noiselab-detect" --dry-run --json --agent "--agent-pid $agent" --half-period 1s \
        --op barrier --seconds 20s | jq .agent.settle_ns)
    kill "$agent"
    [ "$settle" -gt 0 ]
    said | grep -q "20 s of measuring, $((20 * settle / 1000000000)) s of settling after switches"
    # an agent that is frozen: all of it is in --seconds, and the recording that a dry run does not make, too
    rehearsed --agent-cmd 'sleep 99' --seconds 60s
    [[ $(said | head -n 1) = \
        "1 launch, total 60 s: 6 s to record the agent, 49 s of measuring (settling included), 0 s to start, \
5 s for the answer;"* ]]
    said | grep -q '^the agent is recorded first, for 5 s, to know its period'
    [ ! -e "$OUT" ]
    words=(--agent-cmd "$(busy 1ms 50ms)" --agent-period 50ms --design lockin --seconds 4s --warmup 0s \
        --no-report)
    rehearsed "${words[@]}"
    said >"$BATS_TEST_TMPDIR/before"
    "$BIN/noiselab" run agent --ranks 1 --op barrier --out "$OUT" \
        --seed 1 "${words[@]}" >"$BATS_TEST_TMPDIR/stdout" 2>"$ERR" 3>&-
    said | diff "$BATS_TEST_TMPDIR/before" -
    grep -q '4 s of measuring' "$BATS_TEST_TMPDIR/before"
}

@test "an agent that dies while it is recorded ends the run at once, with what it wrote" {
    run_agent --agent-cmd 'sh -c "sleep 2; echo cannot go on >&2; exit 4"' && return 1
    grep -q 'ended by itself (status 4) within 5 s, having written last: cannot go on' "$ERR"
    [ "$(grep -c 'recording the agent' "$ERR")" -eq 1 ]
    [ ! -e "$OUT" ]
}

@test "a campaign ends at the look that decides its margin, and is whole then" {
    needs_cpus 2
    ends '1|3' run_agent --agent-cmd "$(busy 10ms 20ms)" --agent-cpu 0 --agent-period 20ms --block 100ms \
        --agent-settle 10ms --launches 4 --seconds 8s --warmup 0s \
        --margin 0.01 --stop-when decided
    grep -q 'a look after each launch, at alpha 0.0025 (0.01 by 4)' "$ERR"
    [ "$(key looks)" = 4 ]
    # a machine on which half of a CPU is not seen to be above 0.01 % in a launch looks on
    [ "$(planned | wc -l)" -lt 4 ] || skip "undecided after three launches of 2 s, status $status"
    [ "$(key decided_after)" = "$(planned | wc -l) of 4" ]
    [ "$(ls -d "$OUT"/*/launch.json | wc -l)" -eq "$(planned | wc -l)" ]
    grep -q 'has decided: the other launches are not run' "$ERR"
    "$BIN/noiselab" run agent --resume "$OUT" --dry-run 2>&1 |
        grep -q "$(planned | wc -l) of $(planned | wc -l) planned launches are complete"
}

@test "a folder that exists is not taken for a campaign without a word" {
    into_it() { submit_agent --agent-cmd 'sleep 9' --agent-period 1s; }
    mkdir "$OUT"
    into_it
    [ "$(grep -c exists "$ERR")" -eq 0 ]
    rm -r "$OUT"
    mkdir "$OUT" && touch "$OUT/b" "$OUT/a" "$OUT/c" "$OUT/d"
    into_it
    grep -q "'$OUT' exists and is no campaign: the launches go beside what is in it (a, b, c and 1 more)" \
        "$ERR"
    rm -r "$OUT"
    mkdir -p "$OUT/one" && echo '{"schema": 1}' >"$OUT/one/launch.json"
    into_it || true
    grep -q "holds launches already\|--out: " "$ERR"
}

# bats test_tags=quick
@test "two versions are two commands, and what belongs to one agent is refused beside them" {
    run_refused '--against: two commands can be compared' run_agent --agent-pid $$ --against 'sleep 9'
    run_refused '--sweep: one agent has it' run_agent --agent-cmd 'sleep @INTERVAL@' --against 'sleep 9' \
        --sweep 1s,2s
    run_refused '--markdown: belongs to two versions of an agent' run_agent --agent-cmd 'sleep 9' --markdown x
    run_refused "noiselab-nosuch" run_agent --agent-cmd 'sleep 9' --against noiselab-nosuch \
        --agent-period 100ms
    run_refused "--against-name: 'sleep' is the name of the other version" run_agent --agent-cmd 'sleep 9' \
        --against 'sleep 8' --against-name sleep \
        --agent-period 100ms
    run_refused 'which run agent with --against does not judge' run_agent --agent-cmd 'sleep 9' \
        --against 'sleep 8' --margin 1%:nodes=10,every=1ms
    [ ! -e "$OUT" ]
}

@test "two versions run in the same launch, and their difference is the answer in every form" {
    needs_cpus 2
    ends '0|1|3' run_agent --agent-cmd "$(busy 1ms 50ms)" --against "$(busy 3ms 50ms)" --agent-period 50ms \
        --seconds 15s --margin 50 \
        --markdown "$BATS_TEST_TMPDIR/summary.md" --junit "$BATS_TEST_TMPDIR/report.xml"
    verdict=$status
    launch=$OUT/$(planned)/launch.json
    jq -e '.ended == "complete" and .options.design == "quick" and .options.agent == "bench_busy" and
        .options.against == "bench_busy-old" and
        .agents[0].against.name == "bench_busy-old"' "$launch"
    # each has its own rows, and uses CPU time in them
    for kind in bench_busy bench_busy-old; do
        awk -v kind="$kind" \
            "$header"'$c["kind"] == kind { n++; used += $c["agent_cpu_ns"] } END {
            exit !(n > 0 && used > 0) }' \
            "${launch%launch.json}agent".*.csv
    done
    ends "$verdict" "$BIN/noiselab" analyze versions --margin 50 --json "$OUT" >"$BATS_TEST_TMPDIR/json"
    jq -e '.new == "bench_busy" and .old == "bench_busy-old" and (.rows | length) == 1 and
        (.answer | IN("pass", "fail", "inconclusive"))' \
        "$BATS_TEST_TMPDIR/json"
    first=$(jq -r '.first_screen[0]' "$BATS_TEST_TMPDIR/json")
    tr '\n' ' ' <"$BATS_TEST_TMPDIR/stdout" | grep -qF -- "$first"
    grep -qF '### bench\_busy against bench\_busy-old: ' "$BATS_TEST_TMPDIR/summary.md"
    grep -q '<testsuite name="noiselab" tests="1"' "$BATS_TEST_TMPDIR/report.xml"
    ! pgrep -f "$(busy 1ms 50ms)" || false
}
