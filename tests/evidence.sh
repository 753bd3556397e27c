#!/bin/sh
# evidence.sh page: docs/evidence.md, from the rows in docs/evidence, on stdout.
# evidence.sh run SECONDS [NAME...]: the proofs of these names, or all of them, go on where they stand; each has
# its share of SECONDS (0: until it is done). Whatever ends, its rows stay. Status 1 if a command failed otherwise
# than by its time.
set -u
cd "$(dirname "$0")/.." || exit 2
LC_ALL=C
export LC_ALL
folder=docs/evidence

# A proof: its rows, the command that adds to them, what is claimed, what the rows do not show, and, of
# one that may have none, why. What they do show is the function of its name, from the rows on stdin without their heads. A command with $seconds ends
# by itself, any other one is ended.
# shellcheck disable=SC2016 # commands are expanded when they are run
proofs() {
    proof verdicts verdicts.csv 'make bench-stats CAMPAIGNS=2000 PARTS=simulated' \
        'False alarms, coverage and the stated limits hold, whatever the shape of the noise' \
        'machines whose noise is of no simulated shape'
    proof placebo placebo.csv 'PLACEBO_LAUNCHES=30 make bench-stats PARTS=placebo' \
        'A load that does nothing is seldom found on a real machine' \
        'another machine than this one, and more than two ranks' \
        'Thirty launches are eleven minutes of a machine that does nothing else.'
    proof agent_answer agent-answer.csv 'make bench-stats CAMPAIGNS=2000 PARTS=agent' \
        'An answer about an agent is wrong in at most 1 of 100 campaigns, for the hardest margin there is' \
        'agents whose bursts are of no simulated kind'
    proof agent_campaigns agent-campaigns.csv 'make bench-stats CAMPAIGNS=300 PARTS=agent' \
        'A whole campaign with an agent is not passed by a margin that it does not keep' \
        'several nodes and launches'
    proof agent_runs agent-runs.csv 'tests/bench/known-runs.sh bursts placebo beside full control 10' \
        'Known agents are answered in about a minute' \
        'several nodes; more than one machine'
    proof mechanisms mechanisms.csv 'tests/bench/mechanisms.sh 10' \
        'A mechanism is named where it is the cause, and no other; CPU time alone names none' \
        'mechanisms that are not among the cases; other kernels and machines; ranks that wait for each other across nodes'
    proof gate gate.csv 'tests/bench/gate.sh 10' \
        'Two versions of an agent whose difference is known are told apart, and the same one is not failed' \
        'other machines; versions that differ by other effects than bursts'
    proof setting_kills setting-kills.csv 'tests/bench/setting-kills.sh 200' \
        'A setting is as it was found after a KILL at any moment' \
        'settings of /proc and /sys: the one that is switched here is a file'
    proof settings_simulated settings-simulated.csv \
        'R_LIBS=build/lib/noiselab/R Rscript --vanilla tests/bench/settings-simulated.R 70 docs/evidence/settings-simulated.csv' \
        'Two values of a setting that are the same are said to differ in at most 1 of 100 runs, and a known change is found' \
        'settings whose effect comes and goes; several operations at once' \
        'A row needs a hundred simulated runs or more, some minutes of one CPU.'
    proof settings settings.csv \
        'tests/bench/settings.sh fake docs/evidence/settings.csv 20; tests/bench/settings.sh real docs/evidence/settings.csv' \
        'A setting of known effect is found faster, slower or without difference, and settings of this machine have their answers' \
        'other machines; settings that this one does not have'
    proof acceptance acceptance-machines.csv 'make bench-stats CAMPAIGNS=1000 PARTS=acceptance' \
        'Acceptance fails the healthy, and passes what is bad, in at most 1 of 100 campaigns' \
        'faults of hardware that the simulation does not have'
    proof acceptance_runs acceptance-runs.csv \
        'tests/bench/known-runs.sh quiet burst nobody crowd reference against-quiet against-burst against-small 10' \
        'Acceptance of real nodes says what is wrong with them' \
        'a cluster with a network of its own: nodes are one machine'
    proof projection_cells projection-cells.csv 'make bench-stats CAMPAIGNS=300 PARTS=projection' \
        'What is projected of a record is true: intervals hold the truth, margins and numbers of nodes are not wrong' \
        'bursts that come together on several nodes; records of campaigns and of acceptance; machines of no simulated kind'
    proof pattern_draws pattern-draws.csv 'make bench-stats CAMPAIGNS=1000 PARTS=pattern' \
        'The interval of a few simulated draws holds the next run' \
        'patterns whose runs differ otherwise than those of the reference'
    proof advise advise.csv 'make bench-stats CAMPAIGNS=2000 PARTS=advise' \
        'An algorithm is falsely advised, or a default falsely kept, in at most 1 of 100 campaigns' \
        'real campaigns: scatter of no simulated kind'
    proof projection projection.csv 'tests/bench/projection.sh' \
        'What is predicted for two ranks from a record of one is what two ranks lose' \
        'more ranks than two'
    proof simgrid simgrid.csv 'tests/bench/simgrid.sh' \
        'The simulation of many ranks agrees with SimGrid' \
        'other patterns of messages than a barrier and an allreduce'
    proof top top.csv 'tests/bench/top.sh 40' \
        'noiselab top is quiet itself' \
        'nodes of many CPUs: there the cost is extrapolated; a machine without other work'
    proof agents agents.csv \
        'tests/bench/catalogue.sh placebo collectd@1 sadc@1 top@1 netdata node_exporter@1' \
        'What agents of Debian cost is measured, with intervals (the page is made by `make catalogue`)' \
        'more than one machine; agents that sample once in several minutes, at that interval'
    proof bench bench.csv \
        'tests/evidence.sh parts harness generator memory record replay sync startup counters profile project detection' \
        'What measuring costs, how well the load keeps its level, and how efficient the estimates are' \
        'a machine without other work, where busy is more than a few percent: timings then miss their bounds' \
        'These are timings of a machine that does nothing else, which none was; on a busy one they miss their bounds.'
    proof endurance endurance.csv 'make endurance KILLS=1000 SEED="$(tests/evidence.sh next endurance)"' \
        'Whatever is killed, no agent stays frozen, no load goes on, no row is lost, and the campaign goes on' \
        'a machine that loses its power'
    proof faults faults.csv 'make fault' \
        'Whatever call fails, a status says so, and no file says that it is whole and is not' \
        'two calls that fail at once'
    proof fuzz fuzz.csv \
        'make fuzz SECONDS="$((seconds > 0 ? seconds / 3 + 1 : 600))" SEED="$(tests/evidence.sh next fuzz)"' \
        'Hostile files and command lines crash nothing' \
        'inputs that mutation does not reach'
    proof mutants mutants.csv 'make mutants' \
        'A small fault in the code is seen by a test' \
        'faults that are not in tests/mutants.tsv'
    proof test_long test-long.csv 'make test-long SECONDS="$((seconds > 0 ? seconds : 1000000))"' \
        'All tests pass at their full length' \
        'kernels, MPI libraries and compilers that were not there'
    proof matrix matrix.csv 'make test-matrix' \
        'Unit and command-line tests pass with Open MPI 4.1, Open MPI 5 and MPICH, each by gcc and clang' \
        'libraries of vendors (Cray, Intel), and networks other than of one machine' \
        'Six builds with their tests take some hours of both CPUs.'
    proof test_suites test-suites.csv '' \
        'What the tests of a change take on two CPUs (twelve minutes are wanted)' \
        'how long a whole run takes where nothing else runs, and whether it passes: `make test` says both'
}

# ---- what rows show

# by_bound: shares of hits, by the bounds that analysis/bench/bench-stats.R has
verdicts() {
    awk -F , '
        { key = $1 "," $2; bound[key] = $3; n[key] += $7; hits[key] += $8; shapes[$1] = 1 }
        function line(kind, text, low, high,    k, part, worst, at, all, of, d, beyond) {
            for (k in n) if (bound[k] == kind && n[k] > 0) {
                all += hits[k]; of += n[k]; part = 100 * hits[k] / n[k];
                    d = low - part > part - high ? low - part : part - high
                # by two standard errors of a share that is the bound itself
                at = part < low ? low : high; beyond = 2 * sqrt(at * (100 - at) / n[k])
                if (d > beyond) worst = worst (worst ? "; " : "") sprintf("%s %.1f %%", k, part)
            }
            if (of) printf "%s %.2f %% of %d (%s)%s. ", text, 100 * all / of, of,
                low ? sprintf("wanted %g to %g", low, high) : sprintf("wanted at most %g", high),
                worst ? "; beyond chance: " worst : ""
        }
        END {
            for (s in shapes) n_shapes++
            printf "%d shapes. ", n_shapes
            line("false_alarms", "False alarms", 0, 1.3);
                line("coverage", "Intervals of 98 % hold", 97.5, 98.5);
                    line("power", "Found at the stated limit", 93, 97)
        }'
}
placebo() {
    awk -F , '{ for (c = 0; c < 4; c++) { n[c] += $(3 + 2 * c); a[c] += $(4 + 2 * c) } } END {
        split("time preempted detour base", name, " "); printf "%d launches; alarms at alpha 0.01:", NR
        for (c = 0; c < 4; c++) if (n[c]) printf "%s %s %d of %d", c ? "," : "", name[c + 1], a[c], n[c];
            print "." }'
}
# the worst cell first
agent_answer() {
    awk -F , '{ c = $4 ", " $5 ", " $6 " beyond, " $7; n[c] += $9; all += $9; wb += $10; b += $11; wa += $12;
        a += $13; wr += $14; r += $15; below[c] += $16; pass[c] += $17; fail[c] += $18
            p += $17; f += $18 }
        END { for (c in n) { cells++; m = pass[c] > fail[c] ? pass[c] : fail[c];
            m = below[c] > m ? below[c] : m; if (m / n[c] >= worst) { worst = m / n[c]; at = c } }
        if (all) printf "Worst cell: %s, where %.1f %% of one kind of answer are wrong (wanted at most 1). %d campaigns in %d cells: wrong pass %.2f %%, wrong fail %.2f %%. Intervals of 98 %% hold: bursts %.1f %%, other effects %.1f %%, total %.1f %%.\n",
            at, 100 * worst, all, cells, 100 * p / all, 100 * f / all, 100 * b / (wb ? wb : 1),
                100 * r / (wr ? wr : 1), 100 * a / (wa ? wa : 1) }'
}
# of each cell the rows of the version that came last
agent_campaigns() {
    awk -F , '{ if (last[$3] != $2) {
        last[$3] = $2; n[$3] = pass[$3] = fail[$3] = 0; order[$3] = order[$3] ? order[$3] : ++cells;
            name[order[$3]] = $3 }
            n[$3] += $7; pass[$3] += $8; fail[$3] += $9; of[$3] = $4; truth[$3] = $5 }
        END { printf "%d cells, with wrong passes (wanted at most 1 %%):", cells
            for (i = 1; i <= cells; i++) {
                c = name[i]; printf "%s %s (truth %s %%, margin %s): %.1f %% of %d", (i > 1 ? ";" : ""), c,
                    truth[c], of[c], 100 * pass[c] / n[c], n[c] }
            print "." }'
}
# of the last version that has rows of a case
agent_runs() {
    awk -F , '{ if (last[$1] != $12) { last[$1] = $12; n[$1] = found[$1] = below[$1] = sum[$1] = 0 } n[$1]++;
        found[$1] += $4 ~ /^detected/; below[$1] += $11 == "below"; sum[$1] += $6
            if ($3 > took) took = $3 }
        END { split("bursts placebo beside full control", name, " ")
            for (i = 1; i <= 5;
                i++) if ((c = name[i]) in n) printf "%s (%s): found in %d of %d, %.2f %% on average, margin kept in %d. ", c, last[c], found[c], n[c], sum[c] / n[c], below[c]
            printf "Longest %d s.\n", took }'
}
# of the last version that has rows of a case
mechanisms() {
    awk -F , '{ if (last[$1] != $(NF - 1)) {
        last[$1] = $(NF - 1); n[$1] = right[$1] = 0 } if (!($1 in place)) {
            place[$1] = ++cells; name[cells] = $1 }
            n[$1]++; right[$1] += $6 == "yes"; wanted[$1] = $4; if ($6 != "yes") wrong[$1] = $5 }
        END { if (!cells) { print "no run yet."; exit }
            for (i = 1; i <= cells; i++) { c = name[i]
                printf "%s%s: %s in %d of %d%s", (i > 1 ? "; " : ""), c, wanted[c], right[c], n[c],
                    (right[c] < n[c] ? " (else " wrong[c] ")" : "") }
            print "." }'
}
gate() {
    awk -F , '{ if (!($1 in n)) { name[++cells] = $1; truth[$1] = $4 } n[$1]++; wrong[$1] += $6 == "yes"
            out[$1, $5]++; width[$1] += ($9 - $8) / 2 } END {
        if (!cells) { print "no run yet."; exit }
        split("pass,fail,inconclusive", word, ",")
        for (i = 1; i <= cells; i++) { c = name[i]
            printf "%s%s (%s %% more):", (i > 1 ? "; " : ""), c, truth[c]
            for (w = 1; w <= 3; w++) if (out[c, word[w]]) printf " %s %d", word[w], out[c, word[w]]
            printf ", %d wrong, +-%.3f by bursts on average", wrong[c], width[c] / n[c] }
        print "; the margin is 0.3 %." }'
}
setting_kills() {
    awk -F , '{ n++; by[$6]++; hit += $5 == "yes"; if ($6 == "nobody") lost[$1]++ } END {
        if (!n) { print "no kill yet."; exit }
        printf "%d kills, %d of a process that was there: as it was found in %d", n, hit, n - by["nobody"]
        printf " (not changed yet in %d, by a process that was not killed in %d, ", by["none"], by["survivor"]
        printf "when the rest had ended in %d, by --restore in %d)", by["end"], by["restore"]
        for (v in lost) printf "; not after %s in %d", v, lost[v]
        print "." }'
}
settings_simulated() {
    awk -F , '
        $4 == 0 { same += $6; stated += $7 }
        $4 != 0 { size = $4 < 0 ? -$4 : $4; key = size "," $3; of[key] += $6; found[key] += $7
            wrong += $8; other += $6; sizes[size]; if (size == 0.2) { beyond += $6; no += $10 } }
        { n += $6; hold += $9; if (!($3 in seen)) { seen[$3]; name[++names] = $3 } }
        END {
            if (!n) { print "no run yet."; exit }
            printf "%d runs of equal values, %d kinds of noise: %d are said to differ (%.2f %%; wanted at most 1). ",
                same, names, stated, 100 * stated / same
            split("0.2 0.5 1", size_of, " ")
            for (s = 1; s <= 3; s++) if (size_of[s] in sizes) {
                printf "Found of changes of %s %%:", size_of[s]
                for (i = 1; i <= names; i++) { key = size_of[s] "," name[i]
                    if (of[key]) printf "%s %s %.0f %%", (i > 1 ? "," : ""), name[i],
                        100 * found[key] / of[key] }
                printf ". "
            }
            printf "%d of %d are on the wrong side. ", wrong, other
            if (beyond) printf "Of changes of 0.2 %% no difference beyond as much is said of %d of %d (%.2f %%; wanted at most 1). ",
                no, beyond, 100 * no / beyond
            printf "Intervals of 98 %% hold in %.1f %%.\n", 100 * hold / n }'
}
settings() {
    awk -F , '{ key = $6 == "" ? $5 : $6 ($4 == "" ? "" : " beside " $4);
        if (!(key in n)) name[++cells] = key; n[key]++; out[key, $8]++; sum[key] += $15 } END {
        if (!cells) { print "no run yet."; exit }
        for (i = 1; i <= cells; i++) { k = name[i]; printf "%s%s:", (i > 1 ? "; " : ""), k
            split("slower,faster,no difference,undecided", word, ",")
            for (w = 1; w <= 4; w++) if (out[k, word[w]]) printf " %s in %d of %d", word[w], out[k, word[w]],
                n[k]
            printf " (%+.2f %% on average)", sum[k] / n[k] }
        print "." }'
}
acceptance() {
    awk -F , '{ key = $3 "," $4 "," $5; n += $7; c[key] += $7; f[key] += $8; p[key] += $9
            if ($3 == "healthy" && $4 == "planned") { healthy += $7; passed += $12 } } END {
                if (!n) { print "no campaign yet."; exit }; for (k in c) {
            cells++; a = 100 * f[k] / c[k]; b = 100 * p[k] / c[k]; fails = a > fails ? a : fails;
                passes = b > passes ? b : passes
            no += (a > b ? a : b) - 1 > 2 * sqrt(99 / c[k])
        }
        printf "%d campaigns in %d cells: wrong fails at most %.2f %%, wrong passes at most %.2f %% in any cell; %d cells are beyond 1 %% by more than chance",
            n, cells, fails, passes, no
        if (healthy) printf "; of %d healthy clusters %.0f %% pass at the planned length (wanted: 90)",
            healthy, 100 * passed / healthy
        print "." }'
}
acceptance_runs() {
    awk -F , '{ n[$1]++; v[$1, $4]++; kinds[$4] = 1 } END {
        for (c in n) { printf "%s:", c; for (k in kinds) if (v[c, k]) printf " %s %d", k ? k : "no answer",
            v[c, k]; printf ". " } print "" }'
}
# of each cell the rows of the version that came last; cells beyond a bound by more than chance, worst first
projection_cells() {
    awk -F , '
        { if (last[$3] != $2) {
            last[$3] = $2;
                n[$3] = refused[$3] = open[$3] = holds[$3] = width[$3] = pass[$3] = fail[$3] = false[$3] = 0 }
          n[$3] += $14; refused[$3] += $15; open[$3] += $16; holds[$3] += $17; width[$3] += $20;
              pass[$3] += $22; fail[$3] += $23; false[$3] += $25; why[$3] = $28 }
        # by how many standard errors of the bound itself a share of k of m is beyond it; and what is said of it
        function beyond(k, m, bound, below,    d, by) {
            if (m == 0) return 0
            d = below ? bound - k / m : k / m - bound
            by = d / sqrt(bound * (1 - bound) / m)
            return by > 2 ? by : 0
        }
        function say(by, text) {
            if (by > 0) { said = said (said ? "; " : "") text; if (by > worst) worst = by } }
        END {
            for (c in n) {
                cells++; answered = n[c] - refused[c] - open[c]
                all += n[c]; two += answered; held += holds[c]; passes += pass[c]; fails += fail[c];
                    falses += false[c]
                said = ""; worst = 0; ratio = answered ? exp(width[c] / answered) : 0
                if (2 * answered < n[c]) { no_end++; kept[++n_kept] = c ": " why[c] }
                say(beyond(holds[c], answered, 0.97, 1),
                    sprintf("holds %.1f %% of %d", answered ? 100 * holds[c] / answered : 0, answered))
                say(beyond(pass[c], n[c], 0.01, 0), sprintf("wrong pass %.1f %%", 100 * pass[c] / n[c]))
                say(beyond(fail[c], n[c], 0.01, 0), sprintf("wrong fail %.1f %%", 100 * fail[c] / n[c]))
                say(beyond(false[c], n[c], 0.01, 0),
                    sprintf("wrong number of nodes %.1f %%", 100 * false[c] / n[c]))
                if (ratio > 3) say(ratio, sprintf("%.1f times as wide as an ideal interval", ratio))
                if (said) { bad++; list[bad] = c ": " said; score[bad] = worst }
            }
            printf "%d records of %d cells: %.1f %% are answered with two ends, which hold the truth in %.1f %% (wanted 97 to 99.7). Wrong passes %.2f %%, wrong fails %.2f %%, wrong numbers of nodes %.2f %% (wanted at most 1). Open or refused are %.1f %% of the records, and most of those of %d cells (wanted at most 30 %%, each with its reason); %d cells are beyond a bound by more than chance%s",
                all, cells, 100 * two / all, two ? 100 * held / two : 0, 100 * passes / all,
                    100 * fails / all, 100 * falses / all, 100 * (all - two) / all, no_end, bad, bad ? " (the worst first)" : ""
            for (i = 1; i <= bad; i++) {
                top = 0
                for (j = 1; j <= bad; j++) if (list[j] != "" && (!top || score[j] > score[top])) top = j
                printf "\n  * %s", list[top]; list[top] = ""
            }
            for (i = 1; i <= n_kept; i++) printf "%s\n  * %s",
                i == 1 ? "\n* Most records have no answer with two ends (N: a number)" : "", kept[i]
            print ""
        }'
}
pattern_draws() {
    awk -F , '{ key = $3 ", " $4 " draws"; if (last[key] != $2) {
        last[key] = $2; n[key] = h[key] = 0 } n[key] += $6; h[key] += $7 }
        END { for (k in n) { part = 100 * h[k] / n[k]; all += n[k]; held += h[k]; cells++
                if (worst == "" || part < least) { least = part; worst = k } if (part > most) {
                    most = part; best = k } }
            printf "%d cells of 4, 10 and 60 draws hold the next run in %.1f %% of %d (wanted 97 to 99.5); least often %s: %.1f %%, most often %s: %.1f %%.\n",
                cells, 100 * held / all, all, worst, least, best, most }'
}
top() {
    awk -F , '{ if ($10 != v[$1]) {
        v[$1] = $10; n[$1] = cpu[$1] = longest[$1] = refresh[$1] = switches[$1] = 0 } n[$1]++; cpus = $2;
            cpu[$1] += $4; switches[$1] += $7
            if ($5 > longest[$1]) longest[$1] = $5; refresh[$1] += $9 }
        END { split("screen batch exporter", name, " ")
            printf "%d CPUs. ", cpus
            if ("start" in n) printf "From its start on (%s): longest burst %d us. ", v["start"], longest["start"]
            for (i = 1; i <= 3;
                i++) if ((c = name[i]) in n) printf "%s (%s): %.4f %% of one CPU, longest burst %d us, with %d switches per second; on 64 CPUs, if all of it grows with their number, %.2f %% of one. ",
                c, v[c], cpu[c] / n[c], longest[c], switches[c] / n[c], cpu[c] / n[c] * 64 / cpus
            for (i = 1; i <= 2;
                i++) if ((c = "tasks-" (i == 1 ? "cpu" : "proc")) in n) printf "10,000 tasks, source %s: %.1f ms of CPU time a refresh. ", i == 1 ? "cpu" : "proc", refresh[c] / n[c]
            if ("others" in n) printf "Besides, the kernel writes a record at each switch, in the time of the tasks that switch: %.3f %% of one CPU at 1,000 switches per second. ", cpu["others"] / n["others"]
            if ("agent" in n) printf "By noiselab run agent, beside an allreduce: %.3f %% of one CPU. ",
                cpu["agent"] / n["agent"]
            print "Wanted: screen and batch 0.02 %, exporter 0.005 %, bursts at most 500 us, 20 ms a refresh." }'
}
agents() {
    awk -F , '$1 == "placebo" { p++; found += $14 == "detected"; next } {
        n++; a[$1] = 1; by[$13]++; if ($13 == "") none++; open += $21 != "" && $22 == "" }
        END { for (k in a) m++
            printf "%d runs of %d agents: %d answered by bursts, %d by on/off, %d by launches, %d not at all; the projection of %d has no upper end. Of %d placebos %d were found.\n",
                n, m, by["bursts"], by["on/off"], by["launches"], none, open, p, found }'
}
projection_coverage() {
    awk -F , '{ n += $7; could += $8; answered += $9; holds += $10; key = $3 " " $4 " " $5; a[key] += $9;
        h[key] += $10 } END { worst = 1
        for (k in a) if (a[k] >= 50 && h[k] / a[k] < worst) { worst = h[k] / a[k]; at = k }
        printf "%d simulated machines; where the record is long enough, %.1f %% have an upper end; of those with one %.1f %% hold the truth (wanted 97 to 99)%s.\n",
            n, 100 * answered / could, 100 * holds / answered,
                at ? sprintf(", in the worst cell (%s ranks) %.0f %%", at, 100 * worst) : "" }'
}
advise() {
    awk -F , '{ n += $6; f += $7; k += $8; key = $3 ", " $4; c[key] += $6; if ((a[key] += $7) > worst) {
        worst = a[key]; at = key } if ((b[key] += $8) > least) { least = b[key]; of = key } }
        END { printf "%d simulated campaigns: a false advice in %.2f %%, a default wrongly kept in %.2f %% (wanted at most 1)", n, 100 * f / n, 100 * k / n
            if (at) printf "; most false advice: %s, %.2f %%", at, 100 * a[at] / c[at]
            if (of) printf "; most wrong keeps: %s, %.2f %%", of, 100 * b[of] / c[of]; print "." }'
}
projection() {
    awk -f tests/bench/predicted.awk | sed 's/$/ (wanted: 17 of 18, and a mean of z below 0.5 in size)./'
}
simgrid() {
    awk -F , '{ d = $5 < 0 ? -$5 : $5; if (d > most) most = d } END {
        printf "%d cells of up to 256 ranks differ by at most %.2f %% (wanted: 2).\n", NR, most }'
}
bench() {
    awk -F , '{ key = $1 ": " $2; if (!(key in last)) order[++n] = key;
        last[key] = sprintf("%s (wanted %s %s: %s)", $3, $4, $5, $6); busy[key] = $7 } END {
        for (i = 1; i <= n; i++) printf "\n  * %s: %s; busy %s %%", order[i], last[order[i]], busy[order[i]];
            print "" }'
}
endurance() {
    awk -F , '{ k += $2; f += $3; l += $4; p += $6; r += $7; s += $8; if ($5 > most) most = $5 } END {
        printf "%d kills: %d agents left frozen or on, %d loads after a second (longest %d ms), %d processes left, %d campaigns with rows lost, %d not ended or not resumed.\n", k, f, l, most, p, r, s }'
}
faults() {
    awk -F , '{ n[$1] += $3; bad += $4 } END { for (p in n) printf "%s%s %d", s++ ? ", " : "", p, n[p];
        printf " faults: %d bad.\n", bad }'
}
fuzz() {
    awk -F , '{ p += $3; bp += $4; a += $5; c += $6; h += $7; w += $8; x += $9; bx += $10 > 0 } END {
        printf "%d inputs to programs: %d bad. %d to the analysis: %d crashes, %d hung for 10 s, %d wrong statuses. %d to the parsers: %d of %d runs with a finding.\n", p, bp, a, c, h, w, x, bx, NR }'
}
# those of the table, each as it was tried last
mutants() {
    { sed 's/^/tab\t/' tests/mutants.tsv; cat; } |
        awk -F '[,\t]' '$1 == "tab" { if ($2 !~ /^#/) wanted[$2] = 1; next } { last[$1] = $3 } END {
        for (f in wanted) {
            n++; if (last[f] == "yes") yes++; else no = no " " f } printf "%d of %d are seen%s.\n", yes, n,
                no ? "; not:" no : "" }'
}
test_long() {
    awk -F , '{ if (!($1 in passed)) name[++n] = $1; passed[$1] = $2; failed[$1] = $3; skipped[$1] = $4;
        took[$1] = $5; version[$1] = $6 }
        END {
            for (i = 1; i <= n; i++) { s = name[i]; p += passed[s]; f += failed[s]; k += skipped[s];
                t += took[s]; versions += !seen[version[s]]++
                if (failed[s]) bad = bad (bad ? ", " : ": ") s " (" version[s] ")" }
            printf "%d suites, each as it ran last (of %d versions): %d passed, %d skipped, %d failed%s; %d s.\n", n, versions, p, k, f, bad, t
        }'
}
# of each combination as it ran last
matrix() {
    awk -F , '{ if (!($1 in passed)) name[++n] = $1; library[$1] = $2; passed[$1] = $3; failed[$1] = $4;
        skipped[$1] = $5; version[$1] = $7 }
        END { for (i = 1; i <= n; i++) {
            c = name[i]; printf "%s%s (%s, at %s): %d passed, %d failed, %d skipped", i > 1 ? "; " : "", c,
                library[c], version[c], passed[c], failed[c], skipped[c] }
            print "." }'
}
test_suites() {
    awk -F , '{ n += $2; s += $3; c += $4 } END {
        printf "%d suites, %d s one after the other, %d s of CPU time.\n", n, s, c }'
}

# ---- the page

# rows FILE: without comments and columns
rows() { grep -v '^#' "$folder/$1" | tail -n +2; }

# shellcheck disable=SC2016 # the page has backquotes
entry() {
    name=$1 file=$2 command=$3
    if [ ! -s "$folder/$file" ]; then
        unshown="$unshown$(printf '\n* %s (`make evidence ONLY=%s`). %s' "$4" "$name" \
            "${6:-Nobody has taken them.}")" && return
    fi
    # the bench has a list
    dates=$({ rows "$file"; sed -n 's/^#//p' "$folder/$file"; } | grep -oE '20[0-9]{2}-[0-9]{2}-[0-9]{2}' |
        sort -u | sed -n '1p;$p' | uniq | paste -sd ' ' - | sed 's/ / to /')
    printf '\n## %s\n\n* Shown by [%d rows](evidence/%s)%s: %s\n' "$4" "$(rows "$file" | wc -l)" "$file" \
        "${dates:+, $dates}" "$(rows "$file" | "$name" | sed 's/[. ]*$/./')"
    [ -z "$command" ] || printf '* By: `make evidence ONLY=%s`, which is `%s`\n' "$name" "$command"
    printf '* Not shown: %s.\n' "$5"
}

# shellcheck disable=SC2016
page() {
    echo '# Evidence'
    echo
    echo 'What is claimed of noiselab, what shows it, and what does not. This page is made from the rows in `docs/evidence` by `make evidence SECONDS=N`, which adds'
    echo 'rows first, each proof for its share of N seconds, from where it stands (`ONLY=NAME`: one of them; `SECONDS=1 ONLY=page`: the page alone). Each'
    echo 'row has its version and its date; the machine is one of two CPUs, a virtual one, most of the time with other work beside.'
    unshown=''
    proof() { entry "$@"; }
    proofs
    [ -z "$unshown" ] || printf '\n## Not shown yet\n\nThere are no rows of:\n%s\n' "$unshown"
}

# ---- going on

# run_one NAME FILE COMMAND...: for $seconds
run_one() {
    [ -n "$3" ] || return 0
    [ -z "$wanted" ] || case " $wanted " in *" $1 "*) ;; *) return 0 ;; esac
    echo "# $1: $3"
    if [ "$seconds" = 0 ]; then
        sh -c "seconds=0; $3" </dev/null; else seconds=$seconds timeout -k 60 \
            "$((seconds + 30 * (seconds > 30)))" sh -c "$3" </dev/null
    fi
    status=$?
    case $status in
    0 | 124 | 143) ;;
    *) echo "# $1 ended with status $status" >&2 && failed=1 ;;
    esac
}

case ${1-} in
page) page ;;
next)
    # the seed of the next row
    awk -F , '!/^#/ && $1 + 0 > last { last = $1 + 0 } END { print last + 1 }' "$folder/$2.csv" 2>/dev/null ||
        echo 1
    ;;
parts)
    # of the bench those that this version has no rows of
    shift
    version=$(git describe --always) status=0
    for part in "$@"; do
        grep -qs "^$part,.*,$version," "$folder/bench.csv" || tests/bench/bench.sh "$part" || status=$?
    done
    exit $status
    ;;
run)
    seconds=$2 failed=0
    shift 2
    wanted=$*
    NOISELAB_EVIDENCE=$PWD/$folder BUILD=${NOISELAB_BUILD:-build}
    export NOISELAB_EVIDENCE BUILD
    # what was said to this make is not said to those that are called
    unset SECONDS ONLY MAKEFLAGS MFLAGS MAKELEVEL
    n=0
    proof() { [ -z "$3" ] || case " ${wanted:-$1} " in *" $1 "*) n=$((n + 1)) ;; esac; }
    proofs
    if [ "$n" = 0 ] && [ "$wanted" != page ]; then
        echo "evidence.sh: '$wanted' is no proof; there are" >&2
        proof() { [ -z "$3" ] || printf ' %s' "$1" >&2; }
        proofs && echo >&2
        exit 2
    fi
    [ "$n" = 0 ] || [ "$seconds" = 0 ] || seconds=$(((seconds + n - 1) / n))
    proof() { run_one "$@"; }
    proofs
    page >docs/evidence.md.new && mv docs/evidence.md.new docs/evidence.md
    docs/top-costs.sh
    exit "$failed"
    ;;
*) sed -n '2,/^[^#]\|^$/s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac
