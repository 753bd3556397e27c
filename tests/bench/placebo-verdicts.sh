#!/usr/bin/env bash
# False alarms of real placebo launches (level 0: the generator runs and has nothing to do) at one-sided alpha
# 0.01, against the binomial. PLACEBO_LAUNCHES (30) launches of 20 s with 10 operations and sizes each: 300
# verdicts per channel, 11 minutes. Nothing else should run meanwhile. Where rows are kept, each launch is
# one, and those that this version has are not made again. Exit status 1: more or fewer than chance explains
# in 99 of 100 benches.
set -u
cd "$(dirname "$0")/../.." || exit 2
# shellcheck source=tests/bench/launch.bash
source tests/bench/launch.bash
launches=${PLACEBO_LAUNCHES:-30} seconds=20 channels='time preempted detour base' missed=0 i=0
[[ $launches =~ ^[1-9][0-9]*$ ]] || stop "PLACEBO_LAUNCHES: '$launches' is not a positive whole number"

# alarms FILE CHANNEL: how many verdicts a channel has, and how many of them are alarms
alarms() {
    awk -v c="$2" '$1 == c && $2 != "null" { n++; if ($2 <= 0.01) alarms++ } END {
        print n + 0, alarms + 0 }' "$1"
}

echo "Placebo launches: $launches of $seconds s, 2 ranks, 10 operations and sizes, alpha 0.01 one-sided"
[ -z "${NOISELAB_EVIDENCE-}" ] || i=$(n_rows placebo "[0-9]*,$seconds")
[ "$i" -lt "$launches" ] || exit 0
while [ "$i" -lt "$launches" ]; do
    i=$((i + 1))
    # one barrier, and three operations in three sizes
    # shellcheck disable=SC2015 # all or none
    detect "$i" --op barrier,allreduce,alltoall,bcast --bytes 8,2KiB,32KiB --levels 0 --seconds "$seconds" \
        --seed "$i" && analyse "$i" &&
        jq -r '.verdicts[] | select(.level_requested_percent == 0) |
        "\(.channel) \(.p_one_sided) \(.operation) \(.bytes)"' "$work/$i.json" >"$work/one" ||
        stop "placebo launch $i failed"
    cat "$work/one" >>"$work/p"
    columns=seed,seconds$(printf ',%s_verdicts,%s_alarms' \
        time time preempted preempted detour detour base base)
    # shellcheck disable=SC2046 # numbers
    evidence_row placebo \
        "PLACEBO_LAUNCHES=30 make bench-stats PARTS=placebo: verdicts of launches whose load does nothing, \
and alarms among them at one-sided alpha 0.01" \
        "$columns" \
        "$i" "$seconds" $(for channel in $channels; do alarms "$work/one" "$channel"; done)
    rm -rf "${work:?}/$i"
done

for channel in $channels; do
    read -r n alarms <<<"$(alarms "$work/p" "$channel")"
    [ "$n" -gt 0 ] || stop "no placebo launch has a verdict of $channel"
    figures=$(Rscript \
        --vanilla -e "cat(qbinom(c(0.005, 0.995), $n, 0.01), signif(binom.test($alarms, $n, 0.01)\$p.value, \
2))") || exit 2
    read -r least most p <<<"$figures"
    holds=yes
    [ "$alarms" -ge "$least" ] && [ "$alarms" -le "$most" ] || holds=NO missed=1
    printf '  %-44s %15s  wanted %-13s %s\n' "$channel: false alarms in $n verdicts" "$alarms" \
        "$least to $most" "$holds (binomial p $p)"
    awk -v c="$channel" \
        '$1 == c && $2 != "null" && $2 <= 0.01 { printf "    %s %s B: p = %s\n", $3, $4, $2 }' "$work/p"
done
exit $missed
