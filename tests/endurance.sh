#!/usr/bin/env bash
# endurance.sh [KILLS=200] [SEED=1]: campaigns with agents of each way, and in each a random process is killed
# by -9 at a random moment: a rank, mpirun, the companion, its guardian, the generator, the recorder, noiselab
# run itself. Afterwards no agent may be frozen, no load may run a second later, no row that was written may
# be lost, and the campaign must go on. Agents found frozen are thawed. Exit status 1 if anything of that was
# not so, 3 where a campaign could not be made at all.
set -u
cd "$(dirname "$0")/.." || exit 2
# shellcheck source=tests/evidence-row.sh
. tests/evidence-row.sh
KILLS=${1:-200} SEED=${2:-1}
RANDOM=$SEED
BIN=$PWD/${NOISELAB_BUILD:-build}/bin
BUSY=$PWD/${NOISELAB_BUILD:-build}/bench/bench_busy
work=$(mktemp -d) || exit 2
chmod 755 "$work"
group='' group_dir='' AGENT='' RUN=''
declare -A killed n=([kills]=0 [frozen]=0 [loads]=0 [lost]=0 [stuck]=0 [unmade]=0 [left]=0 [longest_ms]=0)

# what everything may take on a busy machine, s
START_S=60 END_S=60 THAW_S=5 RESUME_S=120
# what a load may go on after its launch was killed, ms; where other work keeps the CPUs busy, what is killed
# ends when it has its turn
LOAD_MS=${ENDURANCE_LOAD_MS:-1000}

now_ms() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }

# bad KIND TEXT: what should not be
bad() {
    n[$1]=$((n[$1] + 1))
    echo "  $2: $what"
}
n_bad() { echo $((n[frozen] + n[loads] + n[left] + n[lost] + n[stuck])); }

# until_or SECONDS COMMAND...: until it succeeds
until_or() {
    local until=$((SECONDS + $1))
    until "${@:2}"; do
        [ "$SECONDS" -lt "$until" ] || return 1
        sleep 0.05
    done
}

rows() { cat "$OUT"/*/halves.csv 2>/dev/null | wc -l; }
has_rows() { [ "$(rows)" -gt 6 ]; }
# of_launch NAME: processes of that name that were started for the launch
of_launch() {
    local pid
    grep -lszF "NOISELAB_LAUNCH=$OUT/" /proc/[0-9]*/environ | cut -d / -f 3 | while read -r pid; do
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != "$1" ] || echo "$pid"
    done
}
none_of_ours() {
    local name
    for name in noiselab-detect noiselab-gen noiselab-agent nl-guardian; do
        [ -z "$(of_launch "$name")" ] || return 1
    done
}
has_ended() { ! grep -qs '^State:.[^ZX]' "/proc/$1/status"; }
ticks() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '{ print $12 + $13 }'; }

# is_thawed PID: neither stopped nor in a frozen cgroup, and, of a loop that works, its CPU time goes on
is_thawed() {
    ! grep -qs '^State:.[Tt]' "/proc/$1/status" && ! grep -qs FROZEN "$group_dir/freezer.state" &&
        ! grep -qs 'frozen 1' "$group_dir/cgroup.events" &&
        until_or 2 has_worked "$1" "$(ticks "$1")"
}

# has_worked PID TICKS: it has used CPU time since then
has_worked() { [ "$(ticks "$1")" != "$2" ]; }
is_off() { [ ! -e "$work/on" ]; }

# make_agent: sets AGENT, and words, the options for it
make_agent() {
    AGENT='' words=()
    case $way in
    cmd) words=(--agent-cmd "$BUSY 20ms 100ms" --design lockin) ;;
    command) words=(--agent-on "touch $work/on" --agent-off "rm -f $work/on") ;;
    *)
        "$BUSY" 20ms 100ms &
        AGENT=$!
        words=(--agent-pid "$AGENT")
        [ "$way" != cgroup ] || { echo "$AGENT" >"$group_dir/cgroup.procs" &&
            words=(--agent-cgroup "$group"); }
        ;;
    esac
}

end_agent() {
    [ -z "$AGENT" ] || { kill -9 "$AGENT" && wait "$AGENT"; } 2>/dev/null
    AGENT=''
}

make_group() {
    group=noiselab-endurance.$$
    for group_dir in /sys/fs/cgroup/freezer /sys/fs/cgroup; do
        [ -e "$group_dir/cgroup.procs" ] && group_dir=$group_dir/$group && mkdir "$group_dir" 2>/dev/null &&
            return
    done
    group='' group_dir=''
}

# choose_victim: sets name and pid of what is killed; of several processes any
choose_victim() {
    local names=(noiselab-detect mpirun noiselab-agent nl-guardian noiselab-gen run) pids
    [ "$way" != recorded ] || names=(noiselab-record run)
    name=${names[RANDOM % ${#names[@]}]}
    case $name in
    run) pids=("$RUN") ;;
    mpirun) pids=("$(pgrep -P "$RUN" | head -n 1)") ;;
    noiselab-record) pids=("$recorder") ;;
    *) mapfile -t pids < <(of_launch "$name") ;;
    esac
    pid=${pids[RANDOM % (${#pids[@]} + 1)]-${pids[0]-}}
    [ -n "$pid" ]
}

# no_load: no generator of the launch takes CPU time; one that ends may still write its certificate
no_load() {
    local pid before
    for pid in $(of_launch noiselab-gen); do
        before=$(ticks "$pid")
        sleep 0.2
        [ "$(ticks "$pid")" = "$before" ] || return 1
    done
}

# time_load KILLED_MS: how long the load of a launch that ends goes on after the kill, by looks of a fifth of
# a second
time_load() {
    local looked_ms=0
    while [ "$looked_ms" -le $((10 * LOAD_MS)) ]; do
        looked_ms=$(($(now_ms) - $1))
        ! no_load || break
    done
    [ "$looked_ms" -le "${n[longest_ms]}" ] || n[longest_ms]=$looked_ms
    [ "$looked_ms" -le "$LOAD_MS" ] || bad loads "a load went on for $looked_ms ms"
}

# judge_agent: that it was given back
judge_agent() {
    if [ -n "$AGENT" ] && ! until_or "$THAW_S" is_thawed "$AGENT"; then
        bad frozen 'left frozen'
        kill -CONT "$AGENT"
        [ ! -e "$group_dir/freezer.state" ] || echo THAWED >"$group_dir/freezer.state"
        [ ! -e "$group_dir/cgroup.freeze" ] || echo 0 >"$group_dir/cgroup.freeze"
    fi
    if [ "$way" = command ] && ! until_or "$THAW_S" is_off; then
        bad frozen 'left switched on'
        rm -f "$work/on"
    fi
}

# has_recorder: of the recording before the launches
has_recorder() { recorder=$(pgrep -P "$RUN" -x noiselab-record); }

# once I: a campaign with one kill
once() {
    local ways=(pid cmd command cgroup) n_before=0 begun=has_rows \
        rest=(--half-period 40ms --agent-period 20ms --agent-settle 5ms --levels 20 --warmup 0s --seconds 60 \
        --who none --seed "$1")
    [ -n "$group" ] || ways=(pid cmd command)
    way=${ways[RANDOM % ${#ways[@]}]} OUT=$work/campaign-$1
    make_agent
    # killed while the agent is recorded, before the launches
    if [ "$((RANDOM % 8))" = 0 ] && [ "$way" = pid ]; then way=recorded begun=has_recorder rest=(); fi
    "$BIN/noiselab" run agent "${words[@]}" --ranks 2 --op barrier "${rest[@]}" --launches 1 --out "$OUT" \
        --no-report >"$work/said" 2>&1 3>&- &
    RUN=$!
    if ! until_or "$START_S" $begun || ! choose_victim; then
        n[unmade]=$((n[unmade] + 1))
        echo "  no campaign ($way): $(tail -n 1 "$work/said")"
        kill -TERM "$RUN" 2>/dev/null
        wait "$RUN"
        until_or "$END_S" none_of_ours
        end_agent
        return
    fi
    sleep "0.$(printf %03d "$((RANDOM % 200))")"
    what="$name of a launch with --agent-$way, campaign $1"
    n_before=$(rows)
    kill -9 "$pid"
    n[kills]=$((n[kills] + 1)) killed[$name]=$((${killed[$name]-0} + 1))
    [ "$name" = nl-guardian ] || [ "$way" = recorded ] || time_load "$(now_ms)"
    # what a launch survives (its guardian) is ended as a user would
    until_or 2 has_ended "$RUN" || kill -TERM "$RUN" 2>/dev/null
    until_or "$END_S" has_ended "$RUN" || { bad stuck 'noiselab run does not end' && kill -9 "$RUN"; }
    wait "$RUN" 2>/dev/null
    RUN=''
    until_or "$END_S" none_of_ours || bad left 'a process was left'
    judge_agent
    if [ "$way" = recorded ]; then
        until_or 2 has_ended "$recorder" || bad left 'the recorder goes on'
    else
        # rows are flushed as they are taken: at most the half under way is lost
        [ "$(rows)" -ge "$n_before" ] || bad lost 'rows were lost'
        [ "$(cat "$OUT"/*/halves.csv | awk -F , 'NR == 1 { n = NF } NF != n' | wc -l)" -le 1 ] ||
            bad lost 'damaged rows'
        # the campaign goes on, for a second in place of a minute
        sed -i 's/\t--seconds\t[^\t]*/\t--seconds\t0.5/' "$OUT/schedule.tsv"
        timeout "$RESUME_S" "$BIN/noiselab" run agent --resume "$OUT" --only 1 --no-report >"$work/said" \
            2>&1 3>&- ||
            bad stuck "not resumed (status $?): $(tail -n 1 "$work/said")"
    fi
    end_agent
    [ "$(n_bad)" != 0 ] || rm -rf "$OUT"
}

# sum_up: what was found so far
sum_up() {
    for name in "${!killed[@]}"; do printf '%-16s %4d killed\n' "$name" "${killed[$name]}"; done | sort
    echo "endurance: ${n[kills]} kills, ${n[frozen]} left frozen or switched on," \
        "${n[loads]} loads after a second (longest ${n[longest_ms]} ms)," \
        "${n[left]} processes left, ${n[lost]} with rows lost, ${n[stuck]} not ended or not resumed;" \
        "${n[unmade]} campaigns could not be made"
    about='make endurance KILLS=KILLS SEED=SEED: random kill -9 of running campaigns with agents,'
    [ "${n[kills]}" = 0 ] ||
        evidence_row endurance "$about and what was not given back" \
        seed,kills,frozen,loads,longest_ms,left,lost,stuck,unmade \
        "$SEED" "${n[kills]}" "${n[frozen]}" "${n[loads]}" "${n[longest_ms]}" "${n[left]}" "${n[lost]}" \
        "${n[stuck]}" "${n[unmade]}"
}

clean_up() {
    if [ -n "$RUN" ] && kill -TERM "$RUN" 2>/dev/null; then wait "$RUN"; fi
    end_agent
    [ -z "$group_dir" ] || { sleep 0.2 && rmdir "$group_dir" 2>/dev/null; }
    rm -rf "$work"
}
# what bash says of processes that were killed is no finding
exec 2> >(grep -v ': line [0-9]*: *[0-9]* Killed ' >&2)
trap clean_up EXIT
trap 'sum_up; exit 2' INT TERM HUP
make_group
for ((i = 1; n[kills] < KILLS && n[unmade] < 10 + KILLS / 10; i++)); do
    once "$i"
    [ "$((i % 20))" != 0 ] || echo "${n[kills]} kills so far"
done
sum_up
[ "$(n_bad)" = 0 ] || exit 1
[ "${n[kills]}" -ge "$KILLS" ] || exit 3
