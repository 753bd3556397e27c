#!/usr/bin/env bats
# Two runners of noiselab run live side by side: in bash, and in Python (NOISELAB_RUNNER=python). For the same words they say the same, end with the
# same status, and write the same files.

load run

# a Slurm that answers, and a launcher that starts nothing
slurm_is_there() {
    slurm_stub sinfo <<<"printf '%s\\n' 'main* infinite 8' 'short 30:00 4'"
    slurm_stub sbatch <<<'echo 1'
}

no_launcher() {
    slurm_stub failing-mpirun <<'EOT'
case $1 in --version) echo 'mpirun (Open MPI) 4.1.4' && exit ;; esac
echo 'cannot start anything' >&2
exit 5
EOT
    export NOISELAB_MPIRUN=failing-mpirun
}

# same: what is the moment's or the process's in a schedule, and the seed where it is the clock's
same() {
    sed -E 's/[0-9]{8}T[0-9]{6}Z-[0-9a-f]{4}/ID/g; s/^# created_utc: .*/# created_utc: then/; s/[0-9]{8}T[0-9]{6}Z/THEN/g; s/\b1[789][0-9]{8,18}\b/CLOCK/g; s/\(process [0-9]+ and/(process PID and/; s|/tmp/[a-zA-Z.0-9/-]*/agent/|SCRATCH/agent/|'
}

# by RUNNER WORDS...: what noiselab run says, and leaves in the folder `out`, as one text in the file by.RUNNER
by() {
    rm -rf out
    local status=0
    NOISELAB_RUNNER=${1#bash} "$BIN/noiselab" run "${@:2}" >said.out 2>said.err 3>&- </dev/null || status=$?
    {
        echo "status $status"
        echo '--- stdout' && cat said.out
        echo '--- stderr' && cat said.err
        [ ! -d out ] || (cd out && find . -type f | LC_ALL=C sort | while read -r file; do echo "--- $file" && cat "$file"; done)
    } | same >"by.$1"
}

# alike WORDS...: both runners
alike() {
    by bash "$@"
    by python "$@"
    diff by.bash by.python >difference || { echo "noiselab run $*" && cat difference && n_differ=$((n_differ + 1)); }
}

setup() {
    at_home
    unset NOISELAB_RUNNER
    n_differ=0
}

# bats test_tags=quick
@test "both runners have the same help, tables and lists" {
    for words in '' --help --list --list-tables sensitivty none lib; do alike $words; done
    for experiment in sensitivity agent acceptance advise stability reproducibility; do
        alike "$experiment" --help
        alike "$experiment" --list-tables
    done
    [ "$n_differ" -eq 0 ]
}

@test "both runners refuse the same words by the same sentence" {
    while read -r words; do
        eval "alike $words --out out"
    done <<'EOT'
sensitivity --sedd 1
sensitivity --launches 0
sensitivity --launches 2 --seed 01
sensitivity --seed 08
sensitivity --launches 2 --seed 1234567890123456789
sensitivity --launch-id claims
sensitivity --launch-id a --launches 2
sensitivity --launch-id a/b --op empty --ranks 1
sensitivity --ranks 99999
sensitivity --ranks x
sensitivity --ranks
sensitivity --no-report=yes
sensitivity --op nonsense
sensitivity --op empty --bytes 12x
sensitivity --levels 0,200 --op empty
sensitivity --json --op empty
sensitivity --only 1
sensitivity --partition main
sensitivity --nodes 2
sensitivity --node-sets 1
sensitivity --node-sets accepted:none
sensitivity --design launches --launch-id a
sensitivity --design launches --arms on
sensitivity --design launches --seconds 1ms --op empty --ranks 1
sensitivity --app
sensitivity --app --op empty -- true
sensitivity --app --design launches -- true
sensitivity --resume none
sensitivity --resume none --seconds 5
sensitivity --resume none stray
sensitivity --resume a --finish b
sensitivity --kind prcfs --op empty
sensitivity --hosts a,,b
sensitivity --hosts 'a -x'
sensitivity -- true
sensitivity stray --op empty
agent
agent --agent-cmd ''
agent --agent-cmd 'sleep 9' --agent-pid 1
agent --agent-on true
agent --scrape true
agent --agent-cmd 'sleep 9' --treatment slurm-accounting
agent --treatment nonsense
agent --treatment slurm-accounting:every=2
agent --treatment slurm-accounting:interval=x
agent --restart --agent-pid 1
agent --who x
agent --arms on
agent --hosts a
agent --agent-cmd 'sleep 9' --agent-period 10
agent --agent-cmd 'sleep 9' --agent-period 0s
agent --agent-cmd 'sleep @INTERVAL@'
agent --agent-cmd 'sleep @INTERVAL@' --sweep 1s,10
agent --agent-cmd 'sleep @INTERVAL@' --sweep 1s,1000ms
agent --agent-cmd 'sleep @INTERVAL@' --sweep 1s,,2s
agent --agent-cmd 'sleep 9' --sweep 1s
agent --agent-on a --agent-off b --sweep 1s
agent --agent-pid 1 --sweep 1s
agent --agent-cmd 'sleep @FILE@' --sweep 1s
agent --agent-cmd 'sleep @FILE@' --sweep 1s:template=none
agent --agent-cmd 'sleep @INTERVAL@' --sweep 1s --agent-period 1s
agent --agent-cmd 'sleep @INTERVAL@' --sweep 1s --compare-replay
agent --agent-on a --agent-off b --compare-replay
agent --agent-cmd 'sleep 9' --compare-replay --levels 1
agent --agent-cmd 'sleep 9' --compare-replay=5
agent --agent-cmd 'sleep 9' --stop-when sometimes
agent --agent-cmd 'sleep 9' --stop-when decided
agent --agent-cmd 'sleep 9' --stop-when decided --margin 1
agent --agent-cmd 'sleep 9' --stop-when decided --margin 1 --launches 3 --sweep 1s
agent --agent-cmd 'sleep 9' --design single
agent --agent-cmd 'sleep 9' --design lockin --block 1s
agent --agent-cmd 'nosuchprogram --x' --agent-period 1s --ranks 1 --op empty
agent --agents none
agent --app --agents x -- true
acceptance --quick --full
acceptance --json --lines
acceptance --junit none/x.xml
acceptance --self-check 0
acceptance --self-check x:1s
acceptance --limits none
acceptance --classes none
acceptance --reference none
acceptance --seconds 1h2
acceptance --seconds 1us
acceptance --checks nonsense
acceptance --launch-id x
acceptance --launches x
advise --launches 3
advise --seconds 10
advise --level 0
advise --ranks 1
advise --levels 1
advise --op barrier=tree
advise --op ibarrier
advise --design blocks
advise --verify 2
advise --profile none
advise --op barrier -- true
advise --arms both
advise --arms eager:x
advise --arms mapping:x
advise --arms eager --arrival none
stability --levels 1
stability --count 5
stability --counts 5,,6
stability --counts x
stability --reference 0
stability --margin 1
stability --seconds 1.5
stability --ranks 1,,2
reproducibility --margin 1
reproducibility --launch-id x
reproducibility --launches 2 --ranks 1 --op empty --seconds nonsense
sensitivity --margin x
sensitivity --margin 0%
sensitivity --margin 1%:nodes=1000,every=1ms
agent --margin 1%:nodes=1000 --agent-cmd true
agent --margin 1%:nodes=x,every=1ms --agent-cmd true
agent --margin 1%:nodes=5,every=0ms --agent-cmd true
EOT
    [ "$n_differ" -eq 0 ]
}

@test "both runners plan alike: a dry run says the same" {
    printf '# agents\n a --agent-cmd "sleep 9" --agent-period 1s\nb\t--agent-on true --agent-off true --design lockin\n' >agents
    printf 'x y --agent-cmd z\nx --agent-cmd y\n' >twice
    printf 'a --agent-cmd "sleep 9" --seconds 5\n' >wrong
    printf 'a --agent-cmd "nosuchprogram"\n' >missing
    printf 'every @INTERVAL@\n' >template
    while read -r words; do
        eval "alike $words --dry-run --out out"
    done <<'EOT'
sensitivity
sensitivity --ranks 1 --op barrier --levels 0,1 --seconds 0.2
sensitivity --ranks 1 --op barrier --levels 0,1 --seconds 0.3
sensitivity --ranks 1 --op barrier --levels 0,1 --seconds 4 --launches 4
sensitivity --ranks 1 --op barrier --levels 0,1 --seconds 16 --pattern poisson
sensitivity --ranks 1 --op barrier --levels 0,1 --half-period 2s --seconds 100
sensitivity --ranks 1 --op barrier --levels 0,1 --half-period 500us --period 500us --seconds 100
sensitivity --ranks 1 --op barrier --design single --levels 1
sensitivity --ranks 1 --op barrier --design blocks --levels 1 --json
sensitivity --ranks 1 --op empty --kind spin,procfs --levels 0,1 --seconds 5 --noise-nodes first --on rank:0
sensitivity --design launches --ranks 1 --op empty --levels 0,1,5 --launches 3 --seed 7
sensitivity --design launches --ranks 1 --op empty --levels 1 --json
sensitivity --app -- sleep 5
agent --agent-cmd 'sleep 9' --ranks 1 --op empty
agent --agent-cmd 'sleep 9' --ranks 1 --op empty --restart --launches 2
agent --agent-cmd 'sleep @INTERVAL@' --sweep 0.5s,2s --ranks 1 --op empty
agent --agent-cmd 'cat @FILE@' --sweep 0.5s,2s:template=template --ranks 1 --op empty
agent --scrape 'true' --scrape-period 1s --ranks 1 --op empty
agent --scrape 'true' --sweep 1s,2s --ranks 1 --op empty
agent --agent-pid $$ --levels 0,5 --ranks 1 --op empty
agent --agents agents --ranks 1 --op empty
agent --agents twice
agent --agents wrong --ranks 1 --op empty
agent --agents missing --ranks 1 --op empty
agent --agents agents --sweep 1s
acceptance --ranks 1 --checks latency,detour
acceptance --ranks 1 --full --self-check none --launches 5
acceptance --ranks 1 --seconds 10s --repetitions 3 --seed 3
advise --ranks 2 --oversubscribe
advise --ranks 2 --oversubscribe --seconds 60 --launches 6 --op barrier,allreduce --bytes 8
stability --ranks 1 --op empty
reproducibility --ranks 1,2 --op barrier --starts round:slot=1ms
EOT
    [ "$n_differ" -eq 0 ]
}

@test "for the same seed both runners write the same schedule and batch scripts, byte by byte" {
    no_launcher
    slurm_is_there
    # an agent that goes on whatever it is given
    slurm_stub idling <<<'exec sleep 600'
    printf 'every @INTERVAL@\n' >template
    printf 'a --agent-cmd "idling 9" --agent-period 1s\nb --agent-on true --agent-off true --agent-period 200ms --design lockin\n' >agents
    printf '# none\n' >limits
    while read -r words; do
        eval "alike $words --out out"
        [[ $words = *--dry-run* ]] || grep -q '^--- ./schedule.tsv' by.python || { echo "no schedule: $words" && cat by.python && n_differ=$((n_differ + 1)); }
    done <<'EOT'
sensitivity --ranks 1 --op empty --seed 5
sensitivity --ranks 1 --op empty --launches 3 --seed 5 --margin 1 --no-report
sensitivity --ranks 1 --op empty --design launches --levels 0,1,5 --launches 7 --seed 11
agent --agent-cmd 'idling 9' --agent-period 100ms --ranks 1 --op empty --seed 3
agent --agent-cmd 'idling 9 --password=geheim' --agent-period 100ms --ranks 1 --op empty --seed 3 --launches 3 --seconds 20
agent --agent-cmd 'idling @INTERVAL@' --sweep 0.5s,2s,300ms --launches 5 --ranks 1 --op empty --seed 9
agent --agent-cmd 'idling @FILE@' --sweep 0.5s,2s:template=template --ranks 1 --op empty --seed 9
agent --agent-on true --agent-off true --ranks 1 --op empty --seed 3 --levels 1 --on last
agent --scrape true --scrape-period 50ms --shell --ranks 1 --op empty --seed 3 --seconds 3s
agent --agent-cmd 'idling 9' --agent-period 1s --stop-when decided --margin 2 --launches 4 --ranks 1 --op empty --seed 3
agent --agents agents --ranks 1 --op empty --seed 21 --launches 2
acceptance --ranks 1 --checks latency --seed 4 --limits limits
acceptance --ranks 1 --full --self-check none --launches 5 --seed 4
advise --ranks 2 --oversubscribe --seconds 60 --launches 6 --op barrier,allreduce --bytes 8 --seed 77
stability --ranks 1 --op empty --seed 6 --seconds 3
reproducibility --ranks 1,2 --op barrier --seed 8 --launches 4
sensitivity --submit --ranks 1 --op empty --seed 5 --launches 3 --array --time 30 --seconds 5 --sbatch '-C haswell' --sbatch comment=x --partition short
sensitivity --submit --node-sets 'n1,n2;n3,n4' --op empty --seed 5 --launches 3 --requeue --noise-nodes first --launcher mpirun
sensitivity --submit --nodes 2 --op empty --seed 5 --design launches --levels 1 --launches 3 --seconds 40
agent --submit --agent-cmd 'idling 9' --agent-period 1s --ranks 2 --seed 5 --shell --restart --margin 1
agent --submit --seed 5 --nodes 2 --launches 3
acceptance --submit --nodes 3 --seed 7 --limits limits --margin 5% --json
acceptance --submit --nodes 7 --seed 8 --self-check 2:10s
advise --submit --ranks 4 --nodes 2 --seed 3
stability --submit --nodes 2 --ranks 2,4 --seed 3
reproducibility --submit --nodes 2 --ranks 2,4 --seed 3 --node-sets 'n1;n2'
reproducibility --submit --nodes 2 --ranks 2,4 --seed 3 --node-sets 1 --time 10 --dry-run
EOT
    [ "$n_differ" -eq 0 ]
}
