#!/usr/bin/env bash
# endurance.sh [KILLS=200] [SEED=1]: campaigns with agents of each way, and in each a random process is killed by -9 at a random moment: a rank, mpirun,
# the companion, its guardian, the generator, the recorder, noiselab run itself. Afterwards no agent may be frozen, no load may run a second later, no row
# that was written may be lost, and the campaign must go on. Agents found frozen are thawed. Exit status 1 if anything of that was not so, 3 where a
# campaign could not be made at all.
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
group='' group_dir=''
n_kills=0 n_frozen=0 n_loads=0 n_lost=0 n_stuck=0 n_unmade=0 n_left=0 longest_ms=0
declare -A killed

# what everything may take on a busy machine, s
START_S=60 END_S=60 THAW_S=5 RESUME_S=120
# what a load may go on after its launch was killed, ms; where other work keeps the CPUs busy, what is killed ends when it has its turn
LOAD_MS=${ENDURANCE_LOAD_MS:-1000}

now_ms() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }

# until_or SECONDS COMMAND...: until it succeeds
until_or() {
    local until=$((SECONDS + $1))
    shift
    until "$@"; do
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
    for name in noiselab-detect noiselab-gen noiselab-agent nl-guardian; do [ -z "$(of_launch "$name")" ] || return 1; done
}
is_running() { ! grep -qs '^State:.[^ZX]' "/proc/$1/status" && return 1; return 0; }
has_ended() { ! is_running "$1"; }
ticks() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '{ print $12 + $13 }'; }

# is_thawed PID: neither stopped nor in a frozen cgroup, and, of a loop that works, its CPU time goes on
is_thawed() {
    local before
    ! grep -qs '^State:.[Tt]' "/proc/$1/status" || return 1
    ! grep -qs FROZEN "$group_dir/freezer.state" || return 1
    ! grep -qs 'frozen 1' "$group_dir/cgroup.events" || return 1
    before=$(ticks "$1")
    until_or 2 has_worked "$1" "$before"
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
        [ "$way" != cgroup ] || { echo "$AGENT" >"$group_dir/cgroup.procs" && words=(--agent-cgroup "$group"); }
        ;;
    esac
}

end_agent() {
    [ -n "$AGENT" ] || return 0
    kill -9 "$AGENT" 2>/dev/null
    wait "$AGENT" 2>/dev/null
}

make_group() {
    group=noiselab-endurance.$$
    for group_dir in /sys/fs/cgroup/freezer /sys/fs/cgroup; do
        [ -e "$group_dir/cgroup.procs" ] || continue
        group_dir=$group_dir/$group
        mkdir "$group_dir" 2>/dev/null && return
    done
    group='' group_dir=''
}

# choose_victim: sets name and pid of what is killed; of several processes any
choose_victim() {
    local names=(noiselab-detect mpirun noiselab-agent nl-guardian noiselab-gen run) pids
    name=${names[RANDOM % ${#names[@]}]}
    case $name in
    run) pid=$RUN ;;
    mpirun) pid=$(pgrep -P "$RUN" | head -n 1) ;;
    *)
        mapfile -t pids < <(of_launch "$name")
        pid=${pids[RANDOM % (${#pids[@]} + 1)]-${pids[0]-}}
        ;;
    esac
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

# time_load KILLED_MS: how long the load of a launch that ends goes on after the kill, by looks of a fifth of a second
time_load() {
    local looked_ms=0
    for (( ; ; )); do
        looked_ms=$(($(now_ms) - $1))
        if no_load; then break; fi
        [ "$looked_ms" -le $((10 * LOAD_MS)) ] || break
    done
    [ "$looked_ms" -le "$longest_ms" ] || longest_ms=$looked_ms
    [ "$looked_ms" -le "$LOAD_MS" ] || { n_loads=$((n_loads + 1)) && echo "  a load went on for $looked_ms ms: $what"; }
}

# judge_end ROWS: of a launch that has ended, and had so many rows when something was killed
judge_end() {
    local n_before=$1
    until_or "$END_S" none_of_ours || { n_left=$((n_left + 1)) && echo "  a process was left: $what"; }
    if [ -n "$AGENT" ] && ! until_or "$THAW_S" is_thawed "$AGENT"; then
        n_frozen=$((n_frozen + 1))
        echo "  left frozen: $what"
        kill -CONT "$AGENT"
        [ ! -e "$group_dir/freezer.state" ] || echo THAWED >"$group_dir/freezer.state"
        [ ! -e "$group_dir/cgroup.freeze" ] || echo 0 >"$group_dir/cgroup.freeze"
    fi
    if [ "$way" = command ] && ! until_or "$THAW_S" is_off; then
        n_frozen=$((n_frozen + 1))
        echo "  left switched on: $what"
        rm -f "$work/on"
    fi
    # rows are flushed as they are taken: at most the half under way is lost
    [ "$(rows)" -ge "$n_before" ] || { n_lost=$((n_lost + 1)) && echo "  rows were lost: $what"; }
    [ "$(cat "$OUT"/*/halves.csv | awk -F , 'NR == 1 { n = NF } NF != n' | wc -l)" -le 1 ] || { n_lost=$((n_lost + 1)) && echo "  damaged rows: $what"; }
}

# a campaign with one kill
once() {
    local ways=(pid cmd command cgroup) delay_ms n_before
    [ -n "$group" ] || ways=(pid cmd command)
    way=${ways[RANDOM % ${#ways[@]}]} OUT=$work/campaign-$1
    make_agent
    if [ "$((RANDOM % 8))" = 0 ] && [ "$way" = pid ]; then
        once_recording "$1"
        end_agent
        return
    fi
    "$BIN/noiselab" run agent "${words[@]}" --ranks 2 --op barrier --half-period 40ms --agent-period 20ms --agent-settle 5ms --levels 20 --warmup 0s --seconds 60 --launches 1 \
        --who none --seed "$1" --out "$OUT" --no-report >"$work/said" 2>&1 3>&- &
    RUN=$!
    if ! until_or "$START_S" has_rows || ! choose_victim; then
        n_unmade=$((n_unmade + 1))
        echo "  no campaign ($way): $(tail -n 1 "$work/said")"
        kill -TERM "$RUN" 2>/dev/null
        wait "$RUN"
        until_or "$END_S" none_of_ours
        end_agent
        return
    fi
    delay_ms=$((RANDOM % 200))
    sleep "0.$(printf %03d "$delay_ms")"
    what="$name of a launch with --agent-$way, campaign $1"
    n_before=$(rows)
    kill -9 "$pid"
    n_kills=$((n_kills + 1)) killed[$name]=$((${killed[$name]-0} + 1))
    [ "$name" = nl-guardian ] || time_load "$(now_ms)"
    # what a launch survives (its guardian, which is replaced) is ended as a user would
    until_or 2 has_ended "$RUN" || kill -TERM "$RUN" 2>/dev/null
    until_or "$END_S" has_ended "$RUN" || { n_stuck=$((n_stuck + 1)) && echo "  noiselab run does not end: $what" && kill -9 "$RUN"; }
    wait "$RUN" 2>/dev/null
    judge_end "$n_before"
    RUN=''
    resume
    end_agent
    [ "$n_stuck$n_frozen$n_loads$n_lost$n_left" != 00000 ] || rm -rf "$OUT"
}

# of a recording before the launches: the recorder or noiselab run is killed, and neither recorder nor scraper go on
once_recording() {
    "$BIN/noiselab" run agent "${words[@]}" --ranks 2 --op barrier --launches 1 --out "$OUT" --no-report >"$work/said" 2>&1 3>&- &
    RUN=$!
    if ! until_or "$START_S" pgrep -P "$RUN" -x noiselab-record >/dev/null; then
        n_unmade=$((n_unmade + 1))
        kill -9 "$RUN"
        return
    fi
    recorder=$(pgrep -P "$RUN" -x noiselab-record) name=noiselab-record pid=$recorder
    [ "$((RANDOM % 2))" = 0 ] || { name=run pid=$RUN; }
    what="$name while the agent is recorded, campaign $1"
    kill -9 "$pid"
    n_kills=$((n_kills + 1)) killed[$name]=$((${killed[$name]-0} + 1))
    until_or "$END_S" has_ended "$RUN" || { n_stuck=$((n_stuck + 1)) && echo "  noiselab run does not end: $what" && kill -9 "$RUN"; }
    wait "$RUN" 2>/dev/null
    until_or 2 has_ended "$recorder" || { n_left=$((n_left + 1)) && echo "  the recorder goes on: $what"; }
    is_thawed "$AGENT" || { n_frozen=$((n_frozen + 1)) && echo "  left frozen: $what"; }
}

# resume: the campaign goes on, for a second in place of a minute
resume() {
    local status=0
    sed -i 's/\t--seconds\t[^\t]*/\t--seconds\t0.5/' "$OUT/schedule.tsv"
    timeout "$RESUME_S" "$BIN/noiselab" run agent --resume "$OUT" --only 1 --no-report >"$work/said" 2>&1 3>&- || status=$?
    if [ "$status" != 0 ]; then
        n_stuck=$((n_stuck + 1))
        echo "  not resumed (status $status): $what: $(tail -n 1 "$work/said")"
    fi
}

# sum_up: what was found so far
sum_up() {
    for name in "${!killed[@]}"; do printf '%-16s %4d killed\n' "$name" "${killed[$name]}"; done | sort
    echo "endurance: $n_kills kills, $n_frozen left frozen or switched on, $n_loads loads after a second (longest $longest_ms ms), $n_left processes left, $n_lost with rows lost," \
        "$n_stuck not ended or not resumed; $n_unmade campaigns could not be made"
    [ "$n_kills" = 0 ] || evidence_row endurance 'make endurance KILLS=KILLS SEED=SEED: random kill -9 of running campaigns with agents, and what was not given back' \
        seed,kills,frozen,loads,longest_ms,left,lost,stuck,unmade "$SEED" "$n_kills" "$n_frozen" "$n_loads" "$longest_ms" "$n_left" "$n_lost" "$n_stuck" "$n_unmade"
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
AGENT='' RUN=''
make_group
for ((i = 1; n_kills < KILLS && n_unmade < 10 + KILLS / 10; i++)); do
    once "$i"
    [ "$((i % 20))" != 0 ] || echo "$n_kills kills so far"
done
sum_up
[ "$n_frozen$n_loads$n_left$n_lost$n_stuck" = 00000 ] || exit 1
[ "$n_kills" -ge "$KILLS" ] || exit 3
