# Agents that are switched within a launch: their options, what is recorded before the launches, and the plan of these. Sourced by agent.sh.
# shellcheck shell=bash disable=SC2030,SC2034,SC2154 # variables are shared with the other parts; rows of each agent are counted apart
#
# What such a campaign has beside its launches is in CAMPAIGN/agent: the files made of --sweep LIST:template=FILE, and the recording of the agent
# (recorded.trace, recorded.json).

# what the detector hands on to the companion on the nodes as it is; --shell, which has no value, too
companion_options='--agent-cmd --agent-pid --agent-cgroup --agent-unit --agent-on --agent-off --scrape --scrape-period --agent-cpu
    --agent-found --agent-name --agent-timeout --who'
# what of these is a command or a setting of it, in which @INTERVAL@ and @FILE@ mean something
worded_options='--agent-cmd --agent-on --agent-off --scrape --scrape-period'
# a started program is not measured while it gets going, and runs for some time before it is stopped again
started_settle_ns=1000000000 started_block_ns=2000000000
# an agent that is frozen has undisturbed stretches of so much, and quick halves between them
undisturbed_ns=1000000000
# a half is short against what changes on a machine, and long against a switch; the detector has the same ones
half_ns=100000000 half_without_period_ns=1000000000
# One launch of a minute answers for itself; where launches are asked for, each has half a minute. More where a test within a launch needs it: as many
# pairs of stretches for each operation and size.
one_launch_s=60 each_launch_s=30 least_rounds=7
# what a recording has to hold to be replayed
recorded_periods=10 recorded_least_s=10

# where the files of an agent are, in the campaign and before there is one
agent_folder=agent
now
began_s=$REPLY

# split_keys: what stands behind a colon in our own options
split_keys() {
    treatment=${treatment_asked%%:*} sweep_list=${sweep%%:template=*} interval_template='' record_for='' scrape_cpu=''
    case $treatment_asked in
    "$treatment") ;;
    *:interval=*) interval=${treatment_asked#*:interval=} ;;
    *) die 2 "--treatment: '${treatment_asked#*:}' is not a key of it (interval)" ;;
    esac
    [[ $sweep != *:template=* ]] || interval_template=${sweep#*:template=}
    [[ $scrape_period != *:scrape-cpu=* ]] || scrape_cpu=${scrape_period#*:scrape-cpu=}
    [[ ! $compare_replay || $compare_replay == yes ]] || { nanoseconds_of_period --compare-replay "$compare_replay" && record_for=$compare_replay; }
}

# find_ways: sets ways, the way in which the agent is switched (its first option); empty without an agent
find_ways() {
    split_keys
    ways=''
    for name in $companion_options; do
        was_given "$name" || continue
        value_given "$name"
        [ -n "$REPLY" ] || die 2 "$name: is empty"
        case $name in
        --agent-cmd | --agent-pid | --agent-cgroup | --agent-unit | --agent-on) ways+=${ways:+ }$name ;;
        esac
    done
    for name in --agent-on:--agent-off --agent-off:--agent-on --scrape:--scrape-period --scrape-period:--scrape; do
        if was_given "${name%%:*}" && ! was_given "${name#*:}"; then
            [ "$name:$sweep" != --scrape:--scrape-period:"${sweep:-none}" ] || continue
            die 2 "${name%%:*}: belongs together with ${name#*:}"
        fi
    done
    case $ways in
    *' '*) die 2 "${ways%% *} and ${ways#* }: two ways of switching an agent cannot be combined; give one" ;;
    '') [ -z "$scrape" ] || ways=--scrape ;;
    esac
    [ -z "$ways" ] || [ -z "$treatment" ] ||
        die 2 "--treatment and $ways cannot be combined: launches as a whole, or an agent that is switched within them"
    [ -z "$restart" ] || [ "$ways" = --agent-cmd ] || die 2 '--restart: nothing is started (it belongs to --agent-cmd)'
    [ -n "$ways" ] || refuse_given ': there is no agent (give --agent-cmd or another way)' --agent-timeout --who --shell --agent-found
    [ "$agent_found:${sweep:+sweep}" != on:sweep ] ||
        die 2 "--agent-found: 'on' does not say at which interval of --sweep (off is known: --agent-off)"
}

# check_agent WORDS: an agent that is switched within the launches; sets agent_words
check_agent() {
    least_s=$each_launch_s
    [ -n "$launches" ] || least_s=$one_launch_s
    launches=${launches:-1}
    whole --launches "$launches"
    check_looks
    ! was_given --launches || these_launches "$launches"
    share_seconds
    choose_stretch
    check_sweep
    check_replay
    if [ -n "$app" ]; then
        ranks_planned=-
        set -- --app profiles "$@"
    else
        ranks_column
        set -- --op "$op" --bytes "$bytes" "$@"
    fi
    # what is wrong is said once, and before anything is recorded
    agent_period_ns='' agent_period_source=- spent_s=0
    [ -z "$agent_period" ] || nanoseconds_of_period --agent-period "$agent_period"
    make_scratch
    make_interval_files "$scratch/$agent_folder"
    if [ -n "$submit" ]; then
        # the agent is on the nodes, and not here: all but the agent itself can be checked
        rehearse_agent --agent-cmd 'sleep 60' "$@"
    else
        first_interval=${sweep_list%%,*}
        # the campaign has no folder yet
        files_folder=$scratch/$agent_folder
        with_agent_words "${first_interval:--}" rehearse_agent "$@"
    fi
    files_folder=$campaign/$agent_folder
    analyses=agent${compare_replay:+,replay}
    [ -z "$sweep" ] || analyses=intervals
    agent_words=("$@")
}

# check_looks: whether a look after each launch can end the campaign
check_looks() {
    ends_when=${ends_when/#never/}
    [ -n "$ends_when" ] || return 0
    [ "$ends_when" = decided ] || die 2 "--stop-when: '$ends_when' is not never or decided"
    [ -n "$margin" ] || die 2 '--stop-when decided: what is to be decided? Give --margin'
    [ "$launches" -gt 1 ] || die 2 '--stop-when decided: looks are taken between launches; give --launches'
    refuse_given ' and --stop-when decided cannot be combined: launches of one sort are looked at, one after the other' \
        --agents --sweep --compare-replay --array
    [ -n "$submit" ] || command -v Rscript >/dev/null || die 2 '--stop-when decided: R, which looks, is missing here'
}

# rehearse_agent WORDS: of one interval, or of all launches; times only where the user says them
rehearse_agent() {
    set -- "$@" --design "$design" ${stretch:+"$stretch_name" "${stretch_ns}ns"} ${seconds_each:+--seconds "$seconds_each"}
    set -- "$@" ${agent_period:+--agent-period "${period_ns}ns"} ${agent_settle:+--agent-settle "$agent_settle"}
    rehearse "$@" ${levels:+--levels "$levels"} ${places:+--on "$places"}
}

# share_seconds: sets seconds_each, what a launch (of each interval) has of --seconds; empty where the user does not say it
share_seconds() {
    seconds_each=$seconds
    # the detector says what is wrong with it
    is_time "$seconds" || is_time "${seconds}h" || return 0
    nanoseconds "$seconds"
    seconds_each=$(((REPLY + launches / 2) / launches))ns
}

# choose_stretch: design, and stretch_ns, what a stretch in one arm lasts before it is made to hold whole periods
choose_stretch() {
    is_started='' is_frozen=yes
    case $ways in
    --agent-cmd) [ -z "$restart" ] || is_started=yes ;;
    --agent-on) is_started=yes ;;
    --scrape) is_frozen='' ;;
    esac
    [ -n "$design$is_started$block$half_period$levels$compare_replay$app" ] || [ -z "$is_frozen" ] || design=quick
    # what is not frozen for some milliseconds at a time is started for each stretch
    [ "$ways" != --agent-cmd ] || [ "$design" = quick ] || is_started=yes
    if [ -n "$is_started$block" ] && [ -z "$half_period" ]; then design=${design:-blocks}; else design=${design:-lockin}; fi
    case $design in
    quick) stretch_name=--block stretch=$block stretch_ns=$undisturbed_ns other=--half-period ;;
    lockin) stretch_name=--half-period stretch=$half_period stretch_ns=$half_ns other=--block ;;
    blocks) stretch_name=--block stretch=$block stretch_ns=$started_block_ns other=--half-period ;;
    *) die 2 "--design: '$design' cannot switch an agent within a launch (try quick, lockin, blocks)" ;;
    esac
    ! was_given "$other" || die 2 "$other: design $design has $stretch_name"
    [ -z "$stretch" ] || nanoseconds_of_period "$stretch_name" "$stretch"
    [ -z "$stretch" ] || stretch_ns=$period_ns
}

# nanoseconds_of_period NAME TIME: sets period_ns; refuses what is no time
nanoseconds_of_period() {
    is_time "$2" || die 2 "$1: '$2' is not a time with its unit (try 100ms, 10s)"
    nanoseconds "$2"
    period_ns=$REPLY
    [ "$period_ns" -gt 0 ] || die 2 "$1: '$2' is not a time above 0"
}

# check_sweep: intervals and where they go
check_sweep() {
    local all_words=''
    if [ -z "$sweep" ]; then
        for name in $worded_options; do
            value_given "$name"
            [[ $REPLY != *@INTERVAL@* && $REPLY != *@FILE@* ]] || die 2 "$name: @INTERVAL@ and @FILE@ belong to --sweep LIST"
        done
        return
    fi
    is_list --sweep "$sweep_list" 0.1s,1s,10s
    seen_intervals=' '
    for each in ${sweep_list//,/ }; do
        nanoseconds_of_period --sweep "$each"
        case $seen_intervals in *" $period_ns "*) die 2 "--sweep: '$each' is there twice" ;; esac
        seen_intervals="$seen_intervals$period_ns "
    done
    [ -z "$agent_period" ] || die 2 '--agent-period: with --sweep the interval is the period; leave it out'
    [ -z "$compare_replay" ] || die 2 '--compare-replay and --sweep cannot be combined: compare at one interval'
    # a pull agent works when it is asked
    [ -z "$scrape" ] || [ -n "$scrape_period" ] || scrape_period=@INTERVAL@
    # the interval is a number of seconds, and a time takes its unit
    case $scrape_period in @INTERVAL@ | @INTERVAL@:*) scrape_period=@INTERVAL@s${scrape_period#@INTERVAL@} ;; esac
    for name in $worded_options; do
        value_given "$name"
        all_words+=$REPLY$newline
    done
    if [ -n "$interval_template" ]; then
        readable '--sweep: template' "$interval_template"
        grep -q '@INTERVAL@' "$interval_template" || die 2 "--sweep: template: '$interval_template' has no @INTERVAL@ in it"
        [[ $all_words == *@FILE@* ]] || die 2 "--sweep: template: no command has @FILE@, the path of the file made of '$interval_template'"
        absolute "$campaign"
        campaign=$REPLY
        [[ $campaign != *[!A-Za-z0-9_./:%+,@=-]* ]] ||
            die 2 "--out: '$campaign' would stand in the agent's command as @FILE@, and has blanks or quotes; choose another name"
    else
        case $all_words in
        *@FILE@*) die 2 '@FILE@ is the file made of --sweep LIST:template=FILE, and there is none' ;;
        *@INTERVAL@*) ;;
        *)
            case $ways in
            --agent-on) REPLY='--agent-on or --agent-off' ;;
            --agent-cmd) REPLY=--agent-cmd ;;
            *) REPLY="what $ways switches (a sweep needs --agent-cmd, --agent-on and --agent-off, or --scrape)" ;;
            esac
            die 2 "--sweep: nothing sets the interval: no @INTERVAL@ in $REPLY, and no template with it"
            ;;
        esac
    fi
}

# check_replay: whose bursts are recorded
check_replay() {
    if [ -n "$compare_replay" ]; then
        [[ $ways != --agent-on && $ways != --scrape ]] ||
            die 2 "--compare-replay: $ways does not tell whose bursts to record; give --agent-cmd, --agent-pid, --agent-cgroup or --agent-unit"
        refuse_given ': --compare-replay decides it (the recorded bursts at their own level); leave it out' \
            --levels --on --pattern --replay --kind --preset
        absolute "$campaign"
        campaign=$REPLY
    fi
    # what only the nodes can tell cannot be planned before the job
    if [ -n "$submit" ] && { [ -n "$compare_replay" ] || { [ -z "$sweep$agent_period$scrape" ] && [ "$ways" != --agent-on ]; }; }; then
        plan_later='the agent is recorded on the nodes'
    fi
}

# at_interval TIME: sets interval_seconds, a plain number of seconds, and interval_file, the name of the file made for it
at_interval() {
    local LC_ALL=C name=${interval_template##*/}
    nanoseconds "$1"
    decimals "$REPLY" 1000000000
    interval_seconds=$REPLY interval_file=interval-${REPLY}s-${name//[!A-Za-z0-9._-]/_}
}

# make_interval_files FOLDER
make_interval_files() {
    [ -n "$interval_template" ] || return 0
    mkdir -p "$1" || die 2 "cannot make '$1'"
    for each in ${sweep_list//,/ }; do
        at_interval "$each"
        sed "s/@INTERVAL@/$interval_seconds/g" "$interval_template" >"$1/$interval_file" || die 2 "cannot write into '$1' (no space left?)"
    done
}

# with_agent_words INTERVAL COMMAND WORDS: calls COMMAND with the options of the agent at that interval (- without one), and WORDS after them
with_agent_words() {
    local called=$2 name
    interval_now=$1
    shift 2
    [ -z "$shell" ] || set -- --shell "$@"
    # it gets going in the warm-up
    [ "$ways:$design" != --agent-cmd:quick ] || set -- --warmup "${started_settle_ns}ns" "$@"
    [ "$interval_now" = - ] || at_interval "$interval_now"
    for name in $companion_options; do
        value_given "$name"
        [ -n "$REPLY" ] || continue
        if [[ $interval_now != - && "$worded_options " == *"$name "* ]]; then
            REPLY=${REPLY//@INTERVAL@/"$interval_seconds"}
            [ -z "$interval_template" ] || REPLY=${REPLY//@FILE@/"$files_folder/$interval_file"}
        fi
        set -- "$name" "$REPLY" "$@"
    done
    "$called" "$@"
}

# ---- what is recorded before the launches ----

# on_first_node WORDS: becomes that command, here or on the first node of the job. Call it in the background, where a signal then reaches the
# command, or in $().
on_first_node() {
    ! in_slurm_job || set -- srun --overlap --nodes=1 --ntasks=1 --nodelist="${all_nodes%%"$newline"*}" --cpu-bind=none --mpi=none \
        --job-name=noiselab-record "$@"
    become "$@"
}

# split_words TEXT: sets the array split to its words, as the companion splits them: blanks divide; quotes and backslashes keep; nothing is expanded
split_words() {
    mapfile -t -d '' split < <("$NOISELAB_LIBEXEC/noiselab-sh" split "$1")
    [ ${#split[@]} -gt 0 ] || exit 2
}

# with_command TEXT COMMAND WORDS: calls COMMAND with WORDS and the words of the command TEXT after them
with_command() {
    local -a split=(sh -c "$1")
    [ -n "$shell" ] || split_words "$1"
    "${@:2}" "${split[@]}"
}

# record_agent SECONDS: into $recorded.trace and $recorded.json; fails where nothing of the agent ran in that time
record_agent() {
    record_s=$1 recorded=$scratch/$agent_folder/recorded
    # on a file system that the node sees
    ! in_slurm_job || { make_campaign && recorded=$campaign/$agent_folder/recorded; }
    mkdir -p "${recorded%/*}" 2>/dev/null || die 2 "cannot make '${recorded%/*}'"
    start_scraping
    set -- on_first_node "$NOISELAB_BIN/noiselab-record" --duration "${record_s}s" --out "$recorded.trace" --force --json
    case $ways in
    --agent-cmd) set -- with_command "$agent_cmd" "$@" -- ${agent_cpu:+taskset -c "$agent_cpu"} ;;
    --agent-pid) set -- "$@" --pid "$agent_pid" ;;
    --agent-cgroup) set -- "$@" --cgroup "$agent_cgroup" ;;
    --agent-unit)
        path=$(on_first_node systemctl show --property=ControlGroup --value "$agent_unit" 2>/dev/null)
        [ -n "$path" ] || die 2 "--agent-unit: '$agent_unit' is no running unit of systemd here"
        set -- "$@" --cgroup "$path"
        ;;
    esac
    # what it becomes ends with this script
    token=- "$@" >"$recorded.json" 2>"$scratch/record.err" </dev/null &
    recorder=$!
    trap 'kill "$recorder" 2>/dev/null; stop_scraping; wait "$recorder"; die 2 "interrupted; nothing was measured"' INT TERM HUP
    wait "$recorder"
    status=$?
    end_on_signals
    stop_scraping
    refuse_ended
    [ "$status" != 3 ] || return 1
    [ "$status" = 0 ] && [ -s "$recorded.trace" ] && return
    said "$scratch/record.err"
    [ -n "$compare_replay" ] || REPLY+='; give its period (--agent-period)'
    die 2 "the agent cannot be recorded: $REPLY"
}

# refuse_ended: an agent that ends while it is recorded would end in every launch
refuse_ended() {
    [ "$ways" = --agent-cmd ] && [ -s "$recorded.json" ] || return 0
    json_values "$recorded.json" -- ended || exit
    [ "$REPLY" != - ] || return 0
    wrote=$(grep -v '^noiselab-record: ' "$scratch/record.err" | grep '[[:alnum:]]' | tail -n 1)
    die 2 "--agent-cmd: '$agent_cmd' ended by itself ($REPLY) within $record_s s, having ${wrote:+written last: }${wrote:-written nothing to stderr}"
}

# start_scraping, stop_scraping: a pull agent does nothing unless it is asked
start_scraping() {
    scraping=''
    [ -n "$scrape" ] || return 0
    at_interval "${scrape_period%%:*}"
    # shellcheck disable=SC2016 # for the shell on the node; what it waits for ends with it
    set -- sh -c 'period=$1; shift; trap "kill \$! 2>/dev/null; exit" TERM
        while :; do "$@" >/dev/null 2>&1 & wait $!; sleep "$period" & wait $!; done' scrape "$interval_seconds"
    [ -z "$scrape_cpu" ] || set -- taskset -c "$scrape_cpu" "$@"
    token=- with_command "$scrape" on_first_node "$@" </dev/null >/dev/null 2>&1 &
    scraping=$!
}

stop_scraping() {
    [ -z "$scraping" ] || { kill "$scraping" && wait "$scraping"; } 2>/dev/null
    scraping=''
}

# know_period: sets agent_period_ns (empty: not known) and agent_period_source
know_period() {
    if [ -n "$sweep" ]; then
        agent_period_source=interval
    elif [ -n "$agent_period" ]; then
        nanoseconds "$agent_period" && agent_period_ns=$REPLY agent_period_source=given
    elif [ -n "$scrape" ]; then
        nanoseconds_of_period --scrape-period "${scrape_period%%:*}" && agent_period_ns=$period_ns agent_period_source=scrape
    elif [ "$ways" = --agent-on ]; then
        note 'the period of what --agent-on switches is not known (--agent-period): stretches may not hold whole periods'
    else
        measure_period
    fi
}

# measure_period: records the agent, for longer as long as less than five periods were seen; of a launch whose --seconds hold all for a tenth of it.
# What did nothing in 5 s has no period that 15 s would show.
measure_period() {
    local n_seconds=0 most_s=85 is_silent='' record_s error_ns
    if [ "$design" = quick ]; then
        nanoseconds "${seconds_each:-${least_s}s}"
        most_s=$((REPLY / 10000000000 < 5 ? 5 : REPLY / 10000000000))
    fi
    for record_s in 5 15 60; do
        [ "$is_silent$record_s" != yes15 ] || continue
        [ $((n_seconds + record_s)) -le "$most_s" ] || break
        note "recording the agent for $record_s s, to know its period"
        n_seconds=$((n_seconds + record_s))
        record_agent "$record_s" || { is_silent=yes && continue; }
        json_values "$recorded.json" -- period_ns period_error_ns || exit
        error_ns=${REPLY#*"$tab"}
        # - where no period was found
        agent_period_ns=$(awk -v ns="${REPLY%"$tab"*}" -v s="$record_s" '
            BEGIN { ns += 0; if (ns > 0 && ns * (s < 60 ? 5 : 3) <= s * 1e9) printf "%.0f\n", ns }')
        [ -z "$agent_period_ns" ] || break
    done
    now
    spent_s=$((REPLY - began_s))
    if [ -n "$agent_period_ns" ]; then
        agent_period_source="measured in $n_seconds s"
        note "its period is $(say_ns "$agent_period_ns") +- $(say_ns "$error_ns"); measuring that took $n_seconds s"
    else
        agent_period_source="none found in $n_seconds s"
        note "no period was found in $n_seconds s: stretches have the default length; give --agent-period if it has one"
    fi
}

# say_ns NS: for people
say_ns() { awk -v ns="$1" 'BEGIN { printf "%.4g %s\n", ns / (ns < 1e6 ? 1e3 : ns < 1e9 ? 1e6 : 1e9), ns < 1e6 ? "us" : ns < 1e9 ? "ms" : "s" }'; }

# record_for_replay: a recording that is long enough, without what the start of a started program took; sets replay_level and replay_places
record_for_replay() {
    local wanted_ns skip_ns=0 wanted_s
    nanoseconds "${record_for:-0s}"
    wanted_ns=$REPLY
    [ "$wanted_ns" -gt 0 ] || wanted_ns=$((recorded_periods * ${agent_period_ns:-0}))
    [ "$REPLY" -gt 0 ] || [ "$wanted_ns" -ge "$recorded_least_s"000000000 ] || wanted_ns=${recorded_least_s}000000000
    # a started program is left alone while it gets going, as in the launches
    [ "$ways" != --agent-cmd ] || { settle_of "${agent_period_ns:-0}" && skip_ns=$REPLY; }
    wanted_s=$(((wanted_ns + 999999999) / 1000000000 + (skip_ns + 999999999) / 1000000000))
    note "recording the agent for $wanted_s s, to replay it"
    record_agent "$wanted_s" || die 2 "--compare-replay: nothing of the agent ran in $wanted_s s; record for longer (--compare-replay=TIME)"
    trim_trace "$skip_ns" "$recorded.trace"
    # percent of one CPU, on each CPU that it ran on
    # shellcheck disable=SC2046 # a level, and CPUs
    set -- $(awk '
        /^# *span_ns:/ { span = $3 }
        /^#/ || NF == 0 { next }
        { sum += $2; if (!($3 in seen)) { seen[$3] = 1; cpus = cpus (cpus == "" ? "" : ",") "cpu:" $3; n++ } }
        END { if (n > 0 && span > 0) printf "%.6g %s\n", 100 * sum / span / n, cpus }' "$recorded.trace")
    [ $# = 2 ] || die 2 '--compare-replay: the recording holds no burst of the agent; record for longer (--compare-replay=TIME)'
    replay_level=$1 replay_places=$2
    case $replay_places in *cpu:-*) replay_places=last ;; esac
    awk -v l="$replay_level" 'BEGIN { exit !(l >= 0.001) }' ||
        die 2 "--compare-replay: the agent took $replay_level % of a CPU, and a load below 0.001 % cannot be replayed"
    note "the agent took $replay_level % of each of ${replay_places}; that is replayed beside it"
}

# trim_trace NS FILE: without the bursts that began before, and as much shorter
trim_trace() {
    [ "$1" -gt 0 ] || return 0
    awk -v skip="$1" '
        /^# *span_ns:/ { printf "# span_ns: %.0f\n", $3 - skip; next }
        /^#/ { print; next }
        $1 + 0 >= skip { at = $1; sub(/^[0-9]+/, ""); printf "%.0f%s\n", at - skip, $0 }' "$2" >"$scratch/trimmed"
    mv "$scratch/trimmed" "$2" || die 2 "cannot write '$2' (no space left?)"
}

# ---- the plan ----

# settle_of PERIOD: sets REPLY to what is not measured after a start: whole periods and a half one, so that as much room is on both sides of the next
# work
settle_of() {
    REPLY=$started_settle_ns
    [ "$1" -gt 0 ] || return 0
    for ((REPLY = ($1 + 1) / 2; REPLY < started_settle_ns; REPLY += $1)); do :; done
}

# of_interval INTERVAL: sets what holds for launches at that interval: period_now and stretch_now (ns), settle_now (- the detector's), seconds_now, the
# measuring time, and estimate_ns of the settling where it comes on top of that; where it is the detector's, half a period
of_interval() {
    period_now=${agent_period_ns:-0} settle_now=${agent_settle:--} seconds_now=$seconds_each stretch_now=$stretch_ns
    [ "$1" = - ] || { nanoseconds "$1" && period_now=$REPLY; }
    # whole periods, no less than asked for
    [ "$period_now" != 0 ] || [ "$design$stretch" != lockin ] || stretch_now=$half_without_period_ns
    [ "$period_now" = 0 ] || stretch_now=$(((stretch_now - 1) / period_now * period_now + period_now))
    [ "$settle_now$is_started" != -yes ] || { settle_of "$period_now" && settle_now=${REPLY}ns; }
    [ -n "$seconds_now" ] || enough_seconds
    less_recording
    estimate_ns=$((period_now / 2 > 5000000 ? period_now / 2 : 5000000))
    [ "$settle_now" = - ] || { nanoseconds "$settle_now" && estimate_ns=$REPLY; }
    [ "$design" != quick ] || estimate_ns=0
}

# enough_seconds: sets seconds_now to what stretches of stretch_now take for an answer
enough_seconds() {
    local stretch_design=$design
    # a round has as many stretches as that of a launch with a load in the agent's place; quick halves take about as long as their stretch
    [ "$design" != quick ] || stretch_design=blocks
    [ -z "$app" ] || { op=empty bytes=8; } # one thing that is timed
    if [ -z "${n_stretches-}" ]; then
        "$NOISELAB_BIN/noiselab-detect" --dry-run --json --out "$campaign" --op "$op" --bytes "$bytes" --design "$stretch_design" \
            "$stretch_name" "${stretch_now}ns" --levels "99${levels:+,$levels}${compare_replay:+,98}" --seconds 8760h \
            >"$scratch/round.json" 2>"$scratch/round.err" || {
            cat "$scratch/round.err" >&2
            exit 2
        }
        json_values "$scratch/round.json" -- halves_per_round || exit
        n_stretches=$REPLY
    fi
    seconds_now=$(((least_rounds * n_stretches * stretch_now + 999999999) / 1000000000))
    seconds_now=$((seconds_now < least_s ? least_s : seconds_now))s
}

# less_recording: what recording the agent and all before took is of the time of a launch whose --seconds hold all, and so is a twelfth for the answer
less_recording() {
    [ "$design:$launches" = quick:1 ] && [ "$spent_s" -gt 0 ] || return 0
    nanoseconds "$seconds_now"
    local left_ns=$((REPLY - REPLY / 12 - spent_s * 1000000000))
    decimals "$((left_ns > REPLY / 2 ? left_ns : REPLY / 2))" 1000000000
    seconds_now=${REPLY}s
}

# plan_agent WORDS: launches, of each interval where there are some
plan_agent() {
    local each='' each_ms n_intervals=0 sum_ms=0 settling_ms=0 of_intervals='' nodes said_settling='' interval_now nodes_of_launch
    know_period
    [ -z "$compare_replay" ] || record_for_replay
    [ -n "$sweep_list" ] || each=-
    for each in ${sweep_list//,/ } $each; do
        of_interval "$each"
        n_intervals=$((n_intervals + 1))
        # what is left out after a switch comes on top of the measuring time: it counts as part of a launch's start
        nanoseconds "$seconds_now"
        each_ms=$((REPLY / 1000000))
        sum_ms=$((sum_ms + each_ms)) settling_ms=$((settling_ms + each_ms * estimate_ns / stretch_now))
        for nodes in "${sets_of_nodes[@]}"; do of_intervals+="$each $period_now $stretch_now $settle_now $seconds_now $nodes$newline"; done
    done
    round_s=$(((sum_ms + settling_ms + n_intervals * start_s * 1000 + 500) / 1000))
    start_s=$(((start_s * 1000 + settling_ms / n_intervals + 500) / 1000))
    n_launches=$((launches * n_node_sets * n_intervals))
    say_time "$((settling_ms * launches * n_node_sets / 1000))"
    [ "$design" = quick ] || said_settling=" of which $REPLY settling after switches, not measured;"
    say_time "$((round_s * launches * n_node_sets))"
    note "$n_launches launch(es)${sweep:+ at $n_intervals intervals}, design $design, about $REPLY in all,$said_settling seed $seed; into '$campaign'"
    [ -z "$ends_when" ] || note "a look after each launch, at alpha $(awk -v n="$n_launches" 'BEGIN { printf "%.3g", 0.01 / n }') (0.01 by $n_launches)"
    shuffled "$seed" "$launches" "${of_intervals%"$newline"}"
    for each in "${shuffled[@]}"; do
        read -r _ interval_now period_now stretch_now settle_now seconds_now nodes_of_launch <<<"$each"
        with_agent_words "$interval_now" agent_row "$@"
    done
    schedule_notes="# analyses: $analyses
# start_s: $start_s
# agent_period_ns: ${agent_period_ns:--}
# agent_period_source: $agent_period_source${ends_when:+$newline# looks: $n_launches}${sweep:+$newline# agent_intervals: $sweep_list}"
}

# agent_row WORDS: the row of the next launch, with what of_interval said
agent_row() {
    local key=:interval=$interval_now
    [ "$interval_now" != - ] || key=''
    [ "$period_now" = 0 ] || set -- "$@" --agent-period "${period_now}ns$key"
    [ "$settle_now" = - ] || set -- "$@" --agent-settle "$settle_now"
    [ -z "$levels" ] || set -- "$@" --levels "$levels"
    [ -z "$places" ] || set -- "$@" --on "$places"
    absolute "$campaign"
    [ -z "$compare_replay" ] ||
        set -- "$@" --pattern replay --replay "$REPLY/agent/recorded.trace" --levels "$replay_level" --on "$replay_places"
    row - "$nodes_of_launch" "$ranks_planned" "$@" --design "$design" "$stretch_name" "${stretch_now}ns" --seconds "$seconds_now" \
        --seed "$((seed + row_number))"
}

# ---- several agents ----

# what a line of --agents may have: whatever is an agent's own
# shellcheck disable=SC2086 # one blank between two
line_options="${companion_options//$newline   /} --shell --restart --agent-period --agent-settle --sweep --design --half-period --block"

# read_agents: the lines of --agents FILE that name an agent, as "NUMBER NAME OPTIONS", into $scratch/agents; refuses names that are there twice
read_agents() {
    readable --agents "$agents"
    # shellcheck disable=SC2086 # a list
    refuse_given ": belongs to an agent's line in '$agents'" $line_options
    refuse_given ' and --agents cannot be combined' --treatment --compare-replay --levels --on
    make_scratch
    awk 'NF && $1 !~ /^#/ { sub(/^[ \t]+/, ""); print NR, $0 }' "$agents" >"$scratch/agents"
    [ -s "$scratch/agents" ] || die 2 "--agents: '$agents' names no agent (lines: NAME OPTIONS, such as: top --agent-cmd 'top -b -d 1')"
    wrong=$(awk '
        $2 !~ /^[A-Za-z0-9_][A-Za-z0-9_.-]*$/ { print "line " $1 ": \047" $2 "\047 is not a name (letters, digits, _ . -)"; exit }
        seen[$2] { print "line " $1 ": \047" $2 "\047 is there twice, first in line " seen[$2]; exit }
        { seen[$2] = $1 }' "$scratch/agents")
    [ -z "$wrong" ] || die 2 "--agents: '$agents', $wrong"
}

# check_agents WORDS: several agents, with launches of their own in one random order
check_agents() {
    [ -z "$submit" ] || die 2 '--agents and --submit cannot be combined: run it in a job of yours'
    read_agents
    words_for_all=("$@")
    while read -r line_number line_name line_words; do
        # what it notes it will note again when it is planned
        (of_line && { [ -z "$dry_run" ] || printf '%s\n%s\n\n' "$line_name" "$rehearsal"; }) 2>"$scratch/said" ||
            die $? "--agents: '$agents', line $line_number ($line_name): $(tail -n 1 "$scratch/said" | sed 's/^noiselab-[a-z]*: //')"
    done <"$scratch/agents"
    [ -z "$dry_run" ] || exit 0
    analyses=agent
    go_on "$@"
}

# of_line: with the options of the line as well, check_agent
of_line() {
    local -a split
    given_for_all=$given dry_run_for_all=$dry_run
    split_words "$line_words"
    with_options line_is_parsed "${split[@]}"
}

line_is_parsed() {
    [ $# = 0 ] || die 2 "'$1': not an option of an agent; what is for all agents stands beside --agents"
    for name in $given; do
        case " $line_options " in
        *" $name "*) [ "$name" != --agent-name ] || die 2 '--agent-name: the first word of the line is the name' ;;
        *) die 2 "$name: not an option of an agent; what is for all agents stands beside --agents" ;;
        esac
    done
    given=$given_for_all${given# } dry_run=$dry_run_for_all agent_name=$line_name agent_folder=agent/$line_name
    find_ways
    [ -n "$ways" ] || die 2 'no way of switching it (give --agent-cmd or another)'
    check_agent "${words_for_all[@]}"
}

# plan_agents WORDS: the launches of all agents, in one random order
plan_agents() {
    local line_number line_name line_words names='' i id line all_s=0 start round
    while read -r line_number line_name line_words <&9; do
        note "$line_name:"
        names+=,$line_name
        (
            row_number=$((1000 * line_number))
            of_line && plan_agent "${agent_words[@]}"
            printf '%s\n' "${rows[@]}"
            echo "$start_s $((round_s * launches * n_node_sets))" >>"$scratch/agent-times"
        ) >>"$scratch/agent-rows" || exit $?
    done 9<"$scratch/agents"
    shuffled "$seed" 1 "$(<"$scratch/agent-rows")"
    for i in "${!shuffled[@]}"; do
        printf -v id '%s-%04d%s' "$launch_prefix" "$((i + 1))" "$row_suffix"
        rows+=("$id$tab${shuffled[i]#*"$tab"}")
    done
    start_s=0
    while read -r start round; do
        start_s=$((start > start_s ? start : start_s)) all_s=$((all_s + round))
    done <"$scratch/agent-times"
    say_time "$all_s"
    note "all agents: about $REPLY"
    schedule_notes="# analyses: $analyses$newline# start_s: $start_s$newline# agents: ${names#,}"
}
