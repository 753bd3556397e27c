#!/bin/sh
# top-costs.sh [DOCUMENT]: the table of what noiselab top costs in docs/guides/live.md (or DOCUMENT), made
# anew from the newest row of each part in docs/evidence/top.csv (tests/bench/top.sh adds rows).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
document=${1:-$root/docs/guides/live.md}

table() {
    awk -F , '
        /^#/ { next }
        !n { for (n = 1; n <= NF; n++) at[$n] = n; next }
        { if (!($1 in row)) order[++n_parts] = $1; row[$1] = $0 }
        # value COLUMN UNIT: - where the row has none
        function value(column, unit) { return $at[column] == "" ? "-" : $at[column] unit }
        END {
            what["start"] = "exporter, from its start on"
            what["screen"] = "full screen"
            what["batch"] = "lines (`--batch`)"
            what["exporter"] = "exporter (`--openmetrics`)"
            what["tasks-cpu"] = "10,000 tasks, source cpu"
            what["tasks-proc"] = "10,000 tasks, source proc"
            what["others"] = "*others*: records of context switches"
            what["agent"] = "exporter, by `noiselab run agent`"
            print "| What | Every | CPU time, % of one CPU | Longest burst | Bursts/s | Switches/s |" \
                " CPUs | Version |"
            print "| --- | --- | --- | --- | --- | --- | --- | --- |"
            for (i = 1; i <= n_parts; i++) {
                $0 = row[order[i]]
                printf "| %s | %s | %s | %s | %s | %s | %s | %s |\n", what[$1] != "" ? what[$1] : $1,
                    value("interval_s", " s"), value("cpu_percent", ""), value("longest_us", " µs"),
                    value("bursts_per_s", ""), value("switches_per_s", ""), value("cpus", ""),
                    value("version", "")
            }
        }' "$root/docs/evidence/top.csv"
}

rows=$(mktemp)
made=$(mktemp)
trap 'rm -f "$rows" "$made"' EXIT
table >"$rows"
awk -v rows="$rows" '
    /^<!-- made by docs\/top-costs.sh: end/ { within = 0 }
    !within { print }
    /^<!-- made by docs\/top-costs.sh: begin/ {
        within = 1
        print ""
        while ((getline line < rows) > 0) print line
        print ""
    }' "$document" >"$made"
cat "$made" >"$document"
