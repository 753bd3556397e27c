#!/usr/bin/env bats
# Agents of known dose on the CPU of a rank: the ranks' loss, the rows and the agent's own account say the
# same.

load ../cli/detect

# agreement FILE LEAST MOST: the agent's CPU time on the ranks' CPU is LEAST to MOST percent, and the ranks
# lost as much more in on halves than in the off halves of the same pairs: within 5 % or 20 us/s, and three
# standard errors of what else happens on the machine. Status 3: that is too much to tell.
agreement() {
    awk -F , -v least="$2" -v most="$3" '
        NR > 1 { lost[$6, $8] = $13 / $12; used[$6, $8] = $17 / $12; pairs[$6]++ }
        END {
            for (p in pairs) {
                if (pairs[p] != 2) continue
                dose = used[p, "on"] - used[p, "off"]
                e = lost[p, "on"] - lost[p, "off"] - dose
                n++; a += dose; s += e; s2 += e * e
            }
            a /= n; s /= n
            se = sqrt((s2 / n - s * s) / (n - 1))
            bound = 0.05 * a > 2e-5 ? 0.05 * a : 2e-5
            printf "%d pairs: used %.4f %%, lost %.4f %% more, standard error %.4f %%\n", n, 100 * a,
                100 * (a + s), 100 * se
            if (3 * se > a / 2) exit 3
            if (100 * a < least || 100 * a > most) exit 1
            exit !((s < 0 ? -s : s) <= bound + 3 * se)
        }' "$1"
}

# compared LEAST MOST ARGUMENTS...: a launch; sets AGREED to agreement's status
compared() {
    launch 1 --launch-id one --op empty "${@:3}"
    AGREED=0
    agreement "$OUT/one/agent.$(hostname).csv" "$1" "$2" || AGREED=$?
}

# judged: a machine that was too busy each time is no failure
judged() {
    [ "$AGREED" -ne 3 ] || cannot_tell 'the standard error is more than a sixth of the dose'
    judge [ "$AGREED" -eq 0 ]
}

@test "what a started agent used stands in the rows, and is what the rank on its CPU lost" {
    compared 0.85 1.15 \
        --agent "--agent-cmd '$BIN/noiselab-gen --level 1 --period 100ms --duration 60s' --agent-cpu \
$FIRST_CPU" \
            --agent-period 100ms \
        --half-period 500ms --agent-settle 250ms --seconds 6
    one=$OUT/one
    # the rows of the launch have the dose of the agent's rows, to the nanosecond
    diff <(awk -F , 'NR > 1 && $7 == "on" { print $22 }' "$one/halves.csv") <(awk -F , \
        'NR > 1 && $8 == "on" { print $16 }' "$one/agent.$(hostname).csv")
    awk -F , 'NR > 1 && $7 == "on" { d = $9 - 100 * $22 / $11; if (d > 1e-3 || d < -1e-3) exit 1 }' \
        "$one/halves.csv"
    jq -e '.agents[0] | .state_left == .state_found and .died == null' "$one/launch.json"
    judged
}
