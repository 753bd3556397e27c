#!/bin/sh
# Replays a trace on an otherwise idle CPU and records the replay from outside (root: CPU-wide context-switch records): starts, durations and
# the total beside those of the trace. Then every recorded preset once: its total.
#   bench-replay.sh     BENCH_CPU=N: CPU to use (default: the last allowed one)
set -eu
LC_ALL=C
export LC_ALL
cd "$(dirname "$0")/../.."
build=${NOISELAB_BUILD:-build}
gen=$build/bin/noiselab-gen
cpu=${BENCH_CPU:-$(taskset -cp $$ | sed 's/.*[^0-9]//')}
if [ "$(id -u)" != 0 ]; then
    echo '  replay: needs root, to record from outside what was replayed' >&2
    exit 0
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

# replayed TRACE SECONDS OPTION...: records a replay into $work/recorded, its certificate in $work/certificate
replayed() {
    trace=$1 seconds=$2
    shift 2
    "$build/bin/noiselab-record" --source cpu:group-gap=1ns --duration "${seconds}s" --name noiselab-gen --out "$work/recorded" --force >/dev/null &
    recorder=$!
    sleep 0.5
    "$gen" --replay "$trace" --on "cpu:$cpu" --json "$@" >"$work/certificate" || :
    wait "$recorder"
}

# compare TRACE: prints what was promised for replays, from $work/recorded
compare() {
    Rscript --vanilla - "$1" "$work/recorded" "$cpu" "$work/certificate" <<'EOF'
argument <- commandArgs(TRUE)
trace <- read.table(argument[1], comment.char = "#")
seen <- read.table(argument[2], comment.char = "#")
seen <- seen[seen$V3 == as.integer(argument[3]), ]
certificate <- jsonlite::fromJSON(argument[4])
begin <- trace$V1 - trace$V1[1]
# the recording also holds the program's start: the offset that fits most of the first bursts
nearest <- function(at) {
  i <- pmax(1, pmin(nrow(seen), findInterval(at, seen$V1)))
  j <- pmin(nrow(seen), i + 1)
  ifelse(abs(seen$V1[i] - at) <= abs(seen$V1[j] - at), i, j)
}
first <- head(begin, 300)
offsets <- as.vector(outer(head(seen$V1, 30), head(begin, 3), "-"))
fits <- sapply(offsets, function(o) sum(abs(seen$V1[nearest(first + o)] - first - o) < 3e5))
offset <- offsets[which.max(fits)]
match <- nearest(begin + offset)
late <- seen$V1[match] - begin - offset
ok <- abs(late) < 5e5
late <- late - median(late[ok])
off <- seen$V2[match] - trace$V2
bound <- pmax(2000, 0.01 * trace$V2)
show <- function(name, value, wanted, holds) {
  cat(sprintf("  %-58s %12s   wanted %-12s %s\n", name, format(value, digits = 4), wanted, if (is.na(holds)) "-" else if (holds) "yes" else "NO"))
}
show("replay: bursts seen again, of all", mean(ok), ">= 0.98", mean(ok) >= 0.98)
p50 <- certificate$lateness_ns$p50 / 1000
show("replay: start error by the certificate, median, us", p50, "<= 20", p50 <= 20)
spread <- median(abs(late[ok])) / 1000
show("replay: start error seen from outside, median, us", spread, "<= 20", spread <= 20)
share <- median(abs(off[ok]) / bound[ok])
show("replay: duration error / max(2 us, 1 %), median", share, "<= 1", share <= 1)
total <- sum(seen$V2[match[ok]]) / sum(trace$V2[ok])
show("replay: total recorded again / total of the trace", total, "0.98 to 1.02", total >= 0.98 && total <= 1.02)
EOF
}

# total NAME TRACE: all that was seen of a replay beside what the trace holds. The program's start lies before the phase of 300 ms and its
# end is the last stretch; neither is load.
total() {
    awk -v name="$1" -v cpu="$cpu" '
        FNR == NR { if ($1 !~ /^#/ && NF) asked += $2; next }
        /^#/ || $3 != cpu { next }
        !n++ { begin = $1 }
        $1 - begin > 2e8 { seen += $2; last = $2 }
        END { r = (seen - last) / asked; printf "  %-58s %12.4f   wanted %-12s %s\n", "preset " name ": total recorded again / of the trace", r,
            "0.98 to 1.02", (r >= 0.98 && r <= 1.02) ? "yes" : "NO" }' "$2" "$work/recorded"
}

# held LINES: most memory a generator holds that replays a trace of so many lines, KiB; how long the check of the trace takes goes to stderr
held() {
    awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "%.0f\t1000\n", i * 1e5 }' >"$work/long"
    begin=$(date +%s%N)
    "$gen" --replay "$work/long" --dry-run >/dev/null
    end=$(date +%s%N)
    echo "  replay: a trace of $1 lines is checked in $(((end - begin) / 1000000)) ms" >&2
    "$gen" --replay "$work/long" --pattern replay:loop=yes --duration 3s --on "cpu:$cpu" >/dev/null 2>&1 &
    sleep 2.5
    sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$!/status"
    wait $! || :
    rm -f "$work/long"
}

echo "Memory of a replay"
short=$(held 10000)
long=$(held 10000000)
awk -v s="$short" -v l="$long" 'BEGIN { printf "  %-58s %12d   wanted %-12s %s\n", "replay: 10^7 lines against 10^4, KiB more", l - s, "< 1024", (l - s < 1024) ? "yes" : "NO" }'
echo "Replay on CPU $cpu, recorded from outside"
# 2000 bursts of 80 us to 2 ms at random distances
awk 'BEGIN { srand(5); t = 0; for (i = 0; i < 2000; i++) {
    d = int(exp(log(80000) + rand() * log(25))); printf "%.0f\t%d\n", t, d; t += d + int(1e6 + rand() * 8e6) } }' >"$work/trace"
replayed "$work/trace" 14
compare "$work/trace"
for preset in node_exporter collectd-1s sadc slurm-accounting; do
    trace=$build/share/noiselab/presets/$preset.trace
    [ -f "$trace" ] || continue
    # the first 20 s, from the first burst on
    awk '/^#/ { next } !n++ { first = $1 } $1 - first < 20e9 { printf "%.0f\t%s\n", $1 - first, $2 }' "$trace" >"$work/$preset"
    replayed "$work/$preset" 22 --kind sum --phase 300ms
    total "$preset" "$work/$preset"
done
