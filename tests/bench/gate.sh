#!/usr/bin/env bash
# gate.sh [CASE...] [RUNS] [SECONDSs]: what `noiselab run agent --against` says of two versions whose
# difference is known, until RUNS (10) rows of each CASE and this version are in docs/evidence/gate.csv (the
# same command goes on). SECONDS: length of a run (120s). As root. The margin is 0.3 % in all cases, the old
# version 1 ms each 100 ms on a rank's CPU, the new one:
#   same     the same: pass
#   small    1.1 ms, 0.1 % of a CPU more: pass, or undecided
#   large    1.5 ms, 0.5 % of a CPU more: fail
#   sadc, top, collectd   that agent of Debian's each second, both versions the same: pass
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/bench/launch.bash
source tests/bench/launch.bash
NOISELAB_EVIDENCE=${NOISELAB_EVIDENCE:-docs/evidence}
noiselab=$NOISELAB_BIN/noiselab runs=10 seconds=120 cases=()
for word; do
    case $word in [1-9]*s) seconds=${word%s} ;; [1-9]*) runs=$word ;; *) cases+=("$word") ;; esac
done
[ ${#cases[@]} -gt 0 ] || cases=(same small large)

head='tests/bench/gate.sh: what noiselab run agent --against says of versions of known difference'
columns=case,status,seconds,truth_percent,answer,wrong,bursts_percent,bursts_low,bursts_high
columns+=,whole_percent,whole_low,whole_high,busy_percent

# busy TIME: that much of each 100 ms on a rank's CPU
busy() { echo "taskset -c 0 $build/bench/bench_busy $1 100ms"; }

for case in "${cases[@]}"; do
    period=1s truth=0 wrong=fail
    case $case in
    same) new=$(busy 1ms) old=$new period=100ms ;;
    small) new=$(busy 1.1ms) old=$(busy 1ms) period=100ms truth=0.1 ;;
    large) new=$(busy 1.5ms) old=$(busy 1ms) period=100ms truth=0.5 wrong=pass ;;
    sadc) new="/usr/lib/sysstat/sadc 1 100000 $work/new" old="/usr/lib/sysstat/sadc 1 100000 $work/old" ;;
    top) new='env TERM=dumb top -b -d 1' old=$new ;;
    collectd)
        for version in new old; do
            mkdir -p "$work/$version.d"
            sed "s|^Interval .*|Interval 1|; s|\"collectd|\"$work/$version.d/collectd|
                s|^BaseDir .*|BaseDir \"$work/$version.d\"|" docs/sample/collectd.conf >"$work/$version.conf"
        done
        new="/usr/sbin/collectd -f -C $work/new.conf" old="/usr/sbin/collectd -f -C $work/old.conf"
        ;;
    *) stop "'$case' is not a case (see $0)" ;;
    esac
    for ((n = $(n_rows gate "$case"); n < runs; n++)); do
        others=$(busy_percent)
        "$noiselab" run agent --agent-name new \
            --agent-cmd "$new" --against "$old" --against-name old \
            --agent-period "$period" --op barrier --ranks 1 --margin 0.3 --no-report --seconds "$seconds" \
            --out "$work/one" >"$work/said" 2>"$work/errors" </dev/null
        status=$?
        figures=$("$noiselab" analyze versions --json --margin 0.3 "$work/one" 2>/dev/null |
            jq -r --arg wrong "$wrong" '[.answer, (if .answer == $wrong then "yes" else "no" end),
                (.rows[0] | .bursts, .bursts_low, .bursts_high, .whole, .whole_low, .whole_high)] |
                map(tostring) | join(",")')
        evidence_row gate "$head" "$columns" \
            "$case" "$status" "$seconds" "$truth" "${figures:-,,,,,,,}" "$others"
        tail -n 1 "$NOISELAB_EVIDENCE/gate.csv"
        rm -rf "${work:?}/one"
    done
done
