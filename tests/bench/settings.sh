#!/bin/bash
# Settings of known effect, and settings of this machine, by noiselab run setting.
#   tests/bench/settings.sh fake  FILE [RUNS]   a file stands for the setting: a process that watches it
#                                 begins a load of 1 % of a CPU where the file
#                                               says load, ends it where it says none, and does nothing about
#                                               it where it says other
#   tests/bench/settings.sh real  FILE          settings of this machine that may be written, each once
# Each run adds a row to FILE (docs/evidence/settings.csv); real leaves out settings that have a row of this
# version of noiselab, so that the same command goes on where it was ended. SECONDS_EACH=N: how long a run is
# (default 60); BESIDE=COMMAND: what else runs meanwhile.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
build=$root/${NOISELAB_BUILD:-build}
export PATH="$build/bin:$PATH" LC_ALL=C.UTF-8 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
what=${1-} file=${2-} runs=${3-20} each=${SECONDS_EACH-60}
[ -n "$file" ] || { sed -n '2,/^set/s/^# \{0,1\}//p' "$0" | sed '$d'; exit 2; }
work=$(mktemp -d) || exit 2
watcher='' beside=''
end() {
    # shellcheck disable=SC2086 # none, one or two
    kill $watcher $beside 2>/dev/null
    rm -rf "$work"
}
trap end EXIT
trap 'exit 2' INT TERM
if [ ! -s "$file" ]; then
    {
        echo '# One row per run of tests/bench/settings.sh: what noiselab run setting says of a setting of' \
            'known effect, and of settings of this machine.'
        columns=date,version,machine,beside,setting,truth,seconds,outcome,change_percent,low_percent
        # of the part of the time that leads
        echo "$columns,high_percent,writing_percent,sets,by,by_percent,by_low,by_high"
    } >"$file"
fi
version=$(noiselab-detect --version | head -n 1 | awk '{ print $2 }')
machine="$(nproc) CPUs, $(systemd-detect-virt 2>/dev/null || echo unknown)"
if [ -n "${BESIDE-}" ]; then
    sh -c "exec $BESIDE" >/dev/null 2>&1 &
    beside=$!
fi

# run_one TRUTH SETTING OPTIONS: a row
run_one() {
    local truth=$1 setting=$2
    shift 2
    rm -rf "$work/campaign"
    noiselab run setting --set "$setting" --seconds "$each" --margin 0.5 --no-report --out "$work/campaign" \
        "$@" >"$work/said" 2>&1
    if ! noiselab analyze setting --json --margin 0.5 "$work/campaign" >"$work/json" 2>/dev/null &&
        [ ! -s "$work/json" ]; then
        tail -n 1 "$work/said" >&2
        return 1
    fi
    jq -r --arg date "$(date -u +%F)" --arg version "$version" --arg machine "$machine" \
        --arg beside "$(basename "${BESIDE-}")" --arg setting "${setting##*/}" \
        --arg truth "$truth" \
        --arg each "$each" \
        '.rows[] | (if .by == "all" then [.estimate, .ci_low, .ci_high] else
            [.[.by + ("_percent", "_low", "_high")]] end) as $by |
        [$date, $version, $machine, $beside, $setting, $truth, $each, .outcome, .estimate,
        .ci_low, .ci_high, .writing_percent, .n, .by] + $by | map(tostring | gsub(","; " ")) |
            join(",")' "$work/json" >>"$file"
    tail -n 1 "$file"
}

case $what in
fake)
    echo none >"$work/knob"
    # 1 ms of work each 100 ms on the last CPU
    taskset -c "$(($(nproc) - 1))" "$build/bench/bench_switched" "$work/knob" 1ms 100ms &
    watcher=$!
    for _ in $(seq "$runs"); do
        # what the load takes of one of the ranks' CPUs; a barrier waits for the slowest rank
        run_one 'slower by 1 % of a CPU' "$work/knob=none,load" --settle 50ms
        run_one 'faster by 1 % of a CPU' "$work/knob=load,none" --settle 50ms
        run_one 'no difference' "$work/knob=none,other" --settle 50ms
    done
    ;;
real)
    while read -r setting; do
        grep -F ",$version," "$file" | grep -qF ",$(echo "${setting##*/}" | tr , ' ')," && continue
        run_one '' "$setting"
    done <<END
kernel.numa_balancing=0,1
vm.stat_interval=1,10
kernel.timer_migration=1,0
vm.compaction_proactiveness=20,0
confine:*=$(($(nproc) - 1))
END
    ;;
*)
    echo "settings.sh: '$what' is not fake or real" >&2
    exit 2
    ;;
esac
