#!/bin/bash
# advise: which collective algorithm of the MPI library is the fastest on this machine, quiet and under noise, and how to select it
# shellcheck disable=SC2030,SC2031 # what a subshell exports is for what it runs alone
set -u
# shellcheck source=experiments/lib.sh
. "$NOISELAB_LIBEXEC/lib.sh"
# shellcheck source=experiments/lib-settings.sh
. "$NOISELAB_LIBEXEC/lib-settings.sh"

experiment=advise
analysis=advise
own_options='value arms op bytes level half-period arrival seconds profile verify'

usage() {
    cat <<'EOT'
Usage: noiselab run advise [OPTIONS] [-- COMMAND [ARGUMENT...]]

Compares the algorithms that the MPI library has for its collectives (Open MPI: of its component tuned; MPICH), each as
an arm of its own in every launch, beside the library's default, quiet and with noise on one rank, which goes round
over nodes and ranks; nodes change places, too. The first third of the launches chooses a candidate for each operation
and size; the others, which did not choose it, say what it gains. What is decided by then, and algorithms that are
slower for certain, get no more time: the rest has it all, in launches that are planned again at each third. Where one
is shown to be faster the answer is a file of rules (MPICH: variables), and how to use it. Two short launches try them
first: what the library does not follow is not advised.

  --arms WHAT       what is compared: algorithms (default); eager: the sizes up to which messages go at once (eager:16KiB,64KiB);
                    mapping: places of ranks, where they differ here. The last two hold for a whole launch: --launches sets
                    with a launch for each, in random order, a third of which choose
  --op LIST         operations (default allreduce,bcast,alltoall,barrier,reduce); OP:SIZE has a size of its own
  --bytes LIST      message sizes (default 8,2KiB,256KiB)
  -- COMMAND        a program (mpirun -n 4 ./app): it runs once under noiselab profile, and in place of --op and --bytes come
                    its own blocking collectives, those that have 1 % of its time or more; the answer says what it gains
  --profile DIR     the same by a profile that there is
  --verify N        with a program: N pairs of runs, without the rules and with them in random order, say whether the gain
                    came true
  --ranks N         number of ranks (default: one per allowed core)
  --level LEVEL     the noise, in percent of one CPU (default 5)
  --half-period T   length of a half (default 10ms)
  --arrival NAME    late ranks, in halves of their own beside the noise's: what they cost (default late-any:amount=50us; with a
                    program as late as its own ranks; none: leave them out; see noiselab detect --list arrivals)
  --seconds TIME    time for all of it, whole seconds (default 600). Where it is too short, or the machine is busy, fewer
                    operations and sizes are compared, the first of the lists
  --launches N      launches of the first plan (default 12, at least 4)
  --margin PERCENT  a gain that would matter (default 5): below it the default is kept
  --seed N          seed of the first launch (default: from the clock)

Everything else goes to noiselab-detect as it is (noiselab detect --help).
Exit status 3: undecided for an operation and size.

EOT
}

default_options() {
    op=allreduce,bcast,alltoall,barrier,reduce bytes=8,2KiB,256KiB level=5 half_period=10ms seconds=600 arms=algorithms
    plans_again=plan_what_is_left
}

refuse_option() {
    case $1 in
    --levels) die 2 '--levels: one level of noise is enough here: --level' ;;
    --on | --noise-nodes) die 2 "$1: the noise goes from node to node and rank to rank, launch by launch; leave it out" ;;
    --design | --block | --count) die 2 "$1: half-periods are what is compared; leave it out" ;;
    --launch-id) die 2 '--launch-id: launches need names of their own; leave it out' ;;
    esac
}

# compare CELLS: lines "operation bytes"; into $scratch/compared a line for each with the library's default and every algorithm of it that runs on so
# many ranks, as words of --op
compare() {
    awk -F '[, \t]' -v ranks="$n_ranks" '
        FILENAME == ARGV[1] { if ($2 != "two_proc" || ranks == 2) known[$1] = known[$1] " " $2; next }
        !($1 in known) { print $1 >"/dev/stderr"; exit 1 }
        {
            size = $2 > 0 ? ":" $2 : ""
            line = $1 "=default" size
            n = split(known[$1], names, " ")
            for (i = 1; i <= n; i++) line = line "," $1 "=" names[i] size
            print line
        }' "$scratch/algorithms" "$1" >"$scratch/compared" 2>"$scratch/unknown" ||
        die 2 "--op: this MPI library lets nobody choose the algorithm of '$(cat "$scratch/unknown")' (noiselab detect --list algorithms says of which)"
}

# What an arm takes of a launch, s: its communicator and pilot, and eight rounds of two halves. Fewer say little.
arm_start_s=0.3 least_rounds=8

# fit_time: of the lines of $scratch/compared the first ones that a launch of its share of the time holds, one at least; sets compared and seconds_each
fit_time() {
    [ "$arrival" = none ] && pairs=1 || pairs=2
    nanoseconds "$half_period"
    read -r fits seconds_each start_s < <(awk -v each="$seconds" -v launches="$launches" -v start="$start_s" -v arm="$arm_start_s" \
        -v rounds="$((pairs * least_rounds))" -v half="$REPLY" '
        { arms += split($0, words, ","); if (NR == 1 || start + arms * (arm + rounds * 2 * (half / 1e9 + 3e-4)) <= each / launches) { n = NR; kept = arms } }
        END {
            s = each / launches - start - kept * arm
            printf "%d %d %d\n", n, (s < 1 ? 1 : s), start + kept * arm
        }' "$scratch/compared")
    n_cases=$(wc -l <"$scratch/compared")
    [ "$fits" = "$n_cases" ] || note "$seconds s hold $fits of $n_cases cases, the first ones: more of them by more time (--seconds)"
    compared=$(head -n "$fits" "$scratch/compared" | paste -sd , -)
}

# check_advised_program: what goes with a program. Its command is a word of the schedule, and not one of the launches.
check_advised_program() {
    worth='' advised_words=$app_words
    if [ -z "$app_words$profile" ]; then
        [ -z "$verify" ] || die 2 '--verify: which program? Its command comes last, after -- (run advise --verify 7 -- mpirun -n 4 ./app)'
        return 0
    fi
    refuse_given ': the operations and ranks are those of the program; leave it out' --op --bytes --ranks --hosts --node-sets --submit
    case $app_words in *"$newline"*) die 2 'a program: its words cannot hold line breaks' ;; esac
    [ -z "$verify" ] || whole --verify "$verify"
    [ -z "$verify" ] || [ -n "$app_words" ] || die 2 '--verify: the program has to run again: give its command, after --'
    [ -z "$verify" ] || [ "$verify" -ge 2 ] || die 2 "--verify: $verify pair has no scatter: at least 2 (try 7)"
    [ -n "$profile" ] || [ -z "$dry_run" ] || die 2 '--dry-run: what a program needs is known after a run of it; give --profile DIR'
    command -v Rscript >/dev/null || die 2 'a program: R, which reads its profile, is missing here'
}

# run_profiled FOLDER NAME COMMAND: a run of the user's program under the profile; what it says is in FOLDER/NAME.log
run_profiled() {
    local status log=$1/$2.log
    mkdir -p "$1" || die 2 "cannot make '$1' (not allowed, or no space left?)"
    (start_profiled "$1" "$2" "$$-$2" "$3")
    status=$?
    [ "$status" = 0 ] || die 2 "the program ended with status $status: $(grep '[A-Za-z]' "$log" | tail -n 1 | cut -c 1-200)"
}

# take_profile: which of a program's operations are compared, into $scratch/advice.program (worth), and its number of ranks
take_profile() {
    if [ -z "$profile" ]; then
        note 'a run of the program under noiselab profile'
        run_profiled "$scratch/profiles" program "$app_words"
        profile=$scratch/profiles
    fi
    worth=advice.program
    "$NOISELAB_BIN/noiselab-analyze" profile --write "worth=$scratch/worth" "$profile" 2>"$scratch/worth.err" || {
        said "$scratch/worth.err"
        die 2 "$REPLY"
    }
    cp "$scratch/worth" "$scratch/$worth"
    if [ "$compares" = algorithms ]; then
        awk -F , -v OFS=, 'FILENAME == ARGV[1] { known[$1]; next } FNR > 1 && $9 == "" && !($1 in known) { $9 = "its algorithm cannot be chosen" } 1' \
            "$scratch/algorithms" "$scratch/worth" >"$scratch/$worth"
    fi
    awk -F , 'NR > 1 && $9 == "" { found = 1 } END { exit !found }' "$scratch/$worth" ||
        die 2 "no operation of the program can be compared: $(awk -F , 'NR > 1 { print $1, $9 }' "$scratch/$worth" | paste -sd ';' -)"
    ranks=$(awk -F , 'NR > 1 && $9 == "" { print $5; exit }' "$scratch/$worth")
    # the launches are of the detector alone
    app_words=''
    [ -z "$arrival" ] || return 0
    # as late as its ranks; where they were not looked at, as in other campaigns
    if "$NOISELAB_BIN/noiselab-analyze" profile --write "arrivals=$scratch/advice.arrivals" "$profile" >/dev/null 2>"$scratch/worth.err"; then
        planned_files="$planned_files advice.arrivals"
        absolute "$campaign" && arrival=trace:file=$REPLY/advice.arrivals
    else
        said "$scratch/worth.err"
        note "late ranks as in other campaigns, not as late as the program's: $REPLY"
    fi
}

check_options() {
    level=${level%\%} seconds=${seconds%s}
    seed_and_launches 12
    whole --seconds "$seconds"
    [ "$launches" -ge 4 ] || die 2 "--launches: $launches is too few: two choose, and two confirm (try 12)"
    is_level --level "$level" 5
    check_arms
    # of settings the library says how many launches a set has (plan_settings)
    [ "$compares" != algorithms ] || [ "$seconds" -ge $((4 * launches)) ] ||
        die 2 "--seconds: $seconds is too short for $launches launches: at least $((4 * launches))"
    check_advised_program
    make_scratch
    [ "$compares" != algorithms ] || "$NOISELAB_BIN/noiselab-detect" --list algorithms >"$scratch/algorithms" ||
        die 2 'run advise compares algorithms that Open MPI and MPICH let one choose, and this MPI library does not'
    [ -z "$app_words$profile" ] || take_profile
    ranks_column
    n_nodes_of "${sets_of_nodes[0]}"
    n_set_nodes=$REPLY
    # of a job that is only submitted the cores are not known yet: its own plan counts them
    n_ranks=${ranks:-$((cores * n_set_nodes))}
    [ -z "$submit" ] || [ -n "$ranks" ] || n_ranks=$((2 * n_set_nodes))
    [ "$n_ranks" -ge 2 ] || die 2 "--ranks: $n_ranks rank has nobody to talk to: at least 2"
    [ -z "$worth" ] || op=$(awk -F , 'NR > 1 && $9 == "" { print $1 ($2 > 0 ? ":" $2 : "") }' "$scratch/$worth" | paste -sd , -)
    [[ $op != *=* ]] || die 2 "--op: '$op': all algorithms of an operation are compared; leave what is behind the = out"
    arrival=${arrival:-late-any:amount=50us}
    # a setting acts in every operation: the typical one says it, whatever else the machine does
    [ "$compares" = algorithms ] && timing=off || timing=on
    set -- --arrival "$arrival" --per-operation-timing "$timing" --half-period "$half_period" --levels "$level" "$@"
    rehearse --op "$op" --bytes "$bytes" "$@"
    [ -z "$verify" ] || schedule_notes="$newline# verify: $verify$newline# program: $advised_words"
    planned_files="$planned_files $worth profiles"
    if [ "$compares" != algorithms ]; then
        set -- --op "$op" --bytes "$bytes" "$@"
        go_on "$@"
        return
    fi
    rehearsed 'operations.*.operation' 'operations.*.bytes'
    printf '%s\n' "$REPLY" >"$scratch/cells"
    compare "$scratch/cells"
    fit_time
    rehearse --op "$compared" "$@" --seconds "${seconds_each}s"
    # which launches choose, and after which there is a look, is part of the plan
    third=$(((launches + 2) / 3))
    schedule_notes="# stages: $third,$((launches - (launches - third) / 2)),$launches$newline# budget_s: $seconds$schedule_notes"
    set -- --op "$compared" "$@"
    go_on "$@"
}

# place_of_launch I: of the I-th launch, from 0: which node has rank 0, and so the roots (rotate), which one from there on has the noise (noise_node),
# and which of its ranks (noise_rank). All go round, and not together: what a node is by itself is neither a root's nor the noise's.
place_of_launch() {
    spread --ranks "$n_ranks" "$n_set_nodes"
    round=$(($1 / n_set_nodes))
    rotate=$(($1 % n_set_nodes)) noise_node=$(((round + (use_nodes > 2 ? $1 : 0)) % use_nodes + 1)) noise_rank=$(((rotate + round) % per_node))
}

plan_launches() {
    [ "$compares" = algorithms ] || { plan_settings "$@" && return; }
    local next
    say_time "$((launches * (seconds_each + start_s)))"
    note "$launches launches of $seconds_each s, about $REPLY in all; seed $seed; into '$campaign'"
    for ((next = 0; next < launches; next++)); do
        place_of_launch "$((seed % 1000 + next))"
        nodes_of_launch=${sets_of_nodes[next % n_node_sets]}
        if [ "$n_set_nodes" = 1 ]; then set -- --noise-nodes first "$@"; else set -- "--rotate=$rotate:1" "--noise-node=$noise_node" "$@"; fi
        row - "$nodes_of_launch" "$ranks_planned" "$@" --on "rank:$noise_rank" --seconds "${seconds_each}s" --seed "$((seed + next + 1))"
        shift 2
    done
}

# plan_what_is_left: after the first launch, and at the end of a stage: what is to go on, in the time that is left
plan_what_is_left() {
    local stages=${schedule_values[stages]-}
    [ -z "$only" ] && [ "$n_elsewhere" = 0 ] && [ -n "$stages" ] || return 0
    count_now
    [ "$n_now" -lt "$n_planned" ] || return 0
    case ,1,$stages, in *,"$n_now",*) ;; *) return 0 ;; esac
    command -v Rscript >/dev/null || { note 'R, which would say what is decided, is missing here: all goes on as planned' && return 0; }
    make_scratch
    rm -f "$scratch/next"
    # shellcheck disable=SC2086 # no word, or two
    "$NOISELAB_BIN/noiselab-analyze" advise --write "plan=$scratch/next" ${margin:+--margin $margin} "$campaign" >/dev/null 2>"$scratch/next.err" || {
        first_line "$(<"$scratch/next.err")"
        note "what is decided is not known, and all goes on as planned: $REPLY"
    }
    [ -s "$scratch/next" ] || return 0
    local key value
    local -A next=()
    while read -r key value; do next[$key]=$value; done < <(grep . "$scratch/next")
    note "${next[why]-}"
    # shellcheck disable=SC2016 # awk's. The launches that are left keep their names, seeds and places; more of them count on, in the places of the first
    # ones.
    change_schedule '
        function changed(line, more, words, ends, name, next_seed, n, i) {
            n = split(last, ends, "\t")
            for (i = 2; i <= n; i++) if (ends[i - 1] == "--seed") next_seed = sprintf("%.0f", ends[i] + more)
            n = split(line, words, "\t")
            if (more) {
                name = ends[1]
                sub(/[0-9]+$/, "", name)
                words[1] = name sprintf("%04d", substr(ends[1], length(name) + 1) + more)
            }
            line = words[1]
            for (i = 2; i <= n; i++) {
                if (words[i - 1] == "--op") words[i] = op
                if (words[i - 1] == "--seconds") words[i] = seconds "s"
                if (words[i - 1] == "--seed" && more) words[i] = next_seed
                line = line "\t" words[i]
            }
            return line
        }
        !/^#/ && $1 != "launch" { places[n_places++] = $0 }
        /^# stages: / { $0 = "# stages: " stages }
        /^# launches: / { $0 = "# launches: " (n_now + left) }
        /^#/ || $1 == "launch" || is_complete { print; if (is_complete) last = $0; next }
        n < left { n++; last = $0; print changed($0, 0) }
        END { while (n++ < left) print changed(places[(n_now + n - 1) % n_places], ++more) }' -v op="${next[op]-}" \
        -v seconds="${next[seconds]-}" -v stages="${next[stages]-}" -v left="${next[launches]-}" -v n_now="$n_now"
    is_replanned=yes
    count_now
}

# rules_launch FILE WORDS: which algorithms run, on the nodes of the first launch, by a rank more on each than was measured; into FILE. Status 1: it
# could not be started.
rules_launch() {
    (
        IFS=$tab read -r _ _ nodes_wanted _ <<<"${rows[0]}"
        find_nodes_of_list
        spread --ranks "$n_ranks" "${#nodes_of_list[@]}"
        per_node=$((per_node + 1)) binds_nothing=yes
        take_turns
        export SLURM_OVERCOMMIT=1 OMPI_MCA_coll_tuned_use_dynamic_rules=1
        file=$1
        shift
        "run_$starts_with" "$nodes_wanted" "$NOISELAB_LIBEXEC/noiselab-rules" --out "$file" --ranks "$n_ranks" "$@"
    ) </dev/null >"$scratch/rules.said" 2>&1
}

# with_rules: the environment for the file of rules, and for han's where there is one; or what the file itself says
with_rules() {
    if grep -q '^export ' "$rules"; then
        export_settings "$(sed 's/^export //' "$rules")"
        return
    fi
    export OMPI_MCA_coll_tuned_use_dynamic_rules=1 OMPI_MCA_coll_tuned_dynamic_rules_filename="$rules"
    [ ! -f "$rules.han" ] || export OMPI_MCA_coll_han_use_dynamic_file_rules=1 OMPI_MCA_coll_han_dynamic_rules_filename="$rules.han"
}

# without_rules: of the user's environment
without_rules() {
    # shellcheck disable=SC2046 # names
    unset $(sed -n 's/^export \(.*\)=.*/\1/p' "$rules")
    unset OMPI_MCA_coll_tuned_dynamic_rules_filename OMPI_MCA_coll_han_use_dynamic_file_rules OMPI_MCA_coll_han_dynamic_rules_filename
}

# advised_rules: sets rules, the file of what is advised, which is in $scratch/advice; fails where nothing is
advised_rules() {
    make_scratch
    rules=$(readlink -f "$campaign")/advice.rules
    "$NOISELAB_BIN/noiselab-analyze" advise --csv --write "rules=$rules" ${margin:+--margin "$margin"} "$campaign" >"$scratch/advice" 2>/dev/null
    [ -f "$rules" ]
}

# try_rules: what the analysis would advise is tried where it was measured: without the rules and with them, into advice.tried, which the analysis
# reads. What runs is watched, not timed.
try_rules() {
    # with --finish the nodes are gone: what was tried then holds
    [ -n "${starts_with-}" ] && [ -z "${schedule_values[arms]-}" ] || return 0
    rm -f "$campaign/advice.tried" "$campaign/advice.rules.han"
    advised_rules || return 0
    # "ranks operation=algorithm:bytes"
    awk -F , 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        $at["condition"] == "quiet" && $at["verdict"] == "use" { print $at["ranks"], $at["operation"] "=" $at["algorithm"] ":" $at["bytes"] }' \
        "$scratch/advice" >"$scratch/advised"
    note 'two short launches try what is advised'
    # shellcheck disable=SC2013 # words, without spaces
    for n_ranks in $(cut -d ' ' -f 1 "$scratch/advised" | sort -un); do
        set --
        for word in $(sed -n "s/^$n_ranks //p" "$scratch/advised"); do set -- "$@" "$word"; done
        for how in without with; do
            tried=$rules.$how
            if ! (
                without_rules
                [ "$how" = without ] || with_rules
                rules_launch "$tried" "$@"
            ); then
                first_line "$(<"$scratch/rules.said")"
                note "the rules could not be tried by $((n_ranks + 1)) ranks: $REPLY"
                rm -f "$tried" "$scratch/tried"
                break 2
            fi
            sed "s/^/$how /" "$tried" >>"$scratch/tried"
            rm -f "$tried"
        done
    done
    [ ! -f "$scratch/tried" ] || mv "$scratch/tried" "$campaign/advice.tried"
}

# verify_program: pairs of runs of the program, without the rules and with them, as the plan says; those that are there stay
verify_program() {
    local n_pairs=${schedule_values[verify]-} words_of_program=${schedule_values[program]-}
    [ -n "$n_pairs" ] && [ -n "${starts_with-}" ] || return 0
    advised_rules || { note 'nothing is advised by a rule, and so nothing is verified' && return 0; }
    note "$n_pairs pairs of runs of the program, without the rules and with them"
    shuffled "$seed" "$n_pairs" "off${newline}on"
    for run in "${shuffled[@]}"; do
        how=${run#* }
        printf -v name 'verify-%03d-%s' "${run% *}" "$how"
        ! is_complete "profiles/$name" || continue
        rm -rf "${campaign:?}/profiles/$name"
        (
            without_rules
            unset OMPI_MCA_coll_tuned_use_dynamic_rules
            # without the advice: settings as their launches had them
            if [ "$how" = on ]; then with_rules; else [ -z "${schedule_values[arms]-}" ] || export_settings "${schedule_values[reference]// /$newline}"; fi
            run_profiled "$campaign/profiles" "$name" "$words_of_program"
        ) || exit $?
    done
}

main "$@"
