# Runs what of a schedule is not complete, in its order, one launch after the other. Sourced by lib.sh.
# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # variables are shared with the other parts

# what starting MPI, the pilot and writing the files take; what launches really took replaces it
start_s=2
# a batch job gets its TERM a minute before its end (--signal=B:TERM@60)
reserve_s=65
# what a job takes from its start to its first launch
begin_s=20

# run_schedule: all launches of $schedule that are not complete, or only those of the task $only. Returns when they are; else ends with status 2
# and says how to go on.
run_schedule() {
    choose_launcher
    find_cpus
    [ -z "$treatment" ] || { treatment_row "$treatment" && "$treatment_check"; }
    count_launches
    find_time_limit
    refuse_short_time
    planned_on=$(schedule_key nodes_planned)
    [ -z "$planned_on" ] || [ "$planned_on" = "$n_nodes" ] || [ -n "$only" ] ||
        note "planned on $planned_on node(s), and run on $n_nodes: launches on all nodes (-) differ in size from those before"
    catch_signals
    [ -z "$only" ] || launches_of_task=$newline$(launch_times "$schedule" | awk -v only="$only" '$3 == only { print $1 }')$newline
    n_looks=$(schedule_key looks) is_decided=''
    resumed_at=$(date +%s) n_taken=0 n_elsewhere=0 taken_s=0 started_s=0 is_replanned=yes
    while [ -n "$is_replanned" ]; do walk_schedule; done
    end_on_signals
    count_launches
    [ -z "$only" ] || return 0
    # what others had begun may be complete by now
    [ "$n_elsewhere" = 0 ] || [ "$n_complete" = "$n_planned" ] ||
        die 2 "$n_elsewhere launch(es) are run by others at this moment (see '$campaign/claims'); when they have ended, $(how_to_go_on)"
}

# walk_schedule: its launches in order; one that changes what is left (is_replanned) is the last of this walk
walk_schedule() {
    number=0 is_replanned=''
    while IFS= read -r line <&4; do
        case $line in '#'* | "launch$tab"*) continue ;; esac
        number=$((number + 1))
        # the words of a launch are its fields: only tabs divide them
        old_ifs=$IFS
        IFS=$tab
        set -f
        # shellcheck disable=SC2086
        set -- $line
        set +f
        IFS=$old_ifs
        if [ -n "$only" ]; then
            case $launches_of_task in *"$newline$1$newline"*) ;; *) continue ;; esac
        fi
        run_launch "$@"
        [ -z "$is_decided$is_replanned" ] || break
    done 4<"$schedule"
}

how_to_go_on() { echo "go on with: noiselab run $experiment --resume '$campaign'"; }

# run_launch LAUNCH SET NODES RANKS WORDS
run_launch() {
    launch=$1 set=$2 nodes_wanted=$3 ranks_wanted=$4
    shift 4
    is_complete "$launch" && return
    known_to_job "launch $launch" "$nodes_wanted"
    if ! claim "$launch"; then
        n_elsewhere=$((n_elsewhere + 1))
        return
    fi
    # another one may have completed it between the look and the claim
    if is_complete "$launch"; then
        release "$launch"
        return
    fi
    take_launch_words "$@"
    shift "$n_launch_words"
    [ -z "$noise_node" ] || set -- --noise-nodes "$noise_node" "$@"
    seconds=$(measuring_seconds "$@")
    leave_in_time
    put_aside "$launch"
    note "launch $number of $n_planned: $(describe "$ranks_wanted" "$@")$(time_left)"
    under_treatment "$@"
    set_progress
    one_launch "$launch" "$nodes_wanted" "$ranks_wanted" --out "$campaign" --launch-id "$launch" --progress "$progress" "$@"
    end_of_launch
    n_taken=$((n_taken + 1))
    taken_s=$((taken_s + seconds))
    started_s=$((started_s + took_s))
    start_s=$(awk -v took="$started_s" -v measured="$taken_s" -v n="$n_taken" '
        BEGIN { s = (took - measured) / n; printf "%d\n", (s > 1 ? s + 0.5 : 1) }')
    left_s=$(awk -v left="$left_s" -v s="$seconds" 'BEGIN { printf "%.1f\n", left - s }')
    release "$launch"
    look_at_margin
    [ -z "$plans_again" ] || "$plans_again"
}

# look_at_margin: at a look that was planned; where it decides, the launches that are left are taken out of the schedule, and is_decided is set
look_at_margin() {
    [ -n "$n_looks" ] && [ -z "$only" ] && [ "$n_elsewhere" = 0 ] || return 0
    count_now
    [ "$n_now" -lt "$n_planned" ] || return 0
    # shellcheck disable=SC2086 # no word, or one
    "$NOISELAB_BIN/noiselab-analyze" ${analyses%%,*} --margin "$margin" --json "$campaign" >/dev/null 2>&1
    case $? in
    0 | 1) ;;
    *) return 0 ;;
    esac
    is_decided=yes
    note "the look after launch $n_now of $n_looks has decided: the other launches are not run"
    # shellcheck disable=SC2016 # awk's
    change_schedule '
        $1 == "launch" { print "# decided_after: " looks }
        /^#/ || $1 == "launch" || is_complete' -v looks="$n_now of $n_looks"
    count_now
}

# count_now: in the middle of a run: n_now launches are complete, and n_complete stays the number of those that were before it
count_now() {
    count_launches
    n_now=$n_complete
    n_complete=$((n_complete - n_taken))
}

# change_schedule PROGRAM WORDS: each line of the schedule, and of the one with the words as they are, through awk, which knows whether it is a launch
# that is complete (is_complete)
change_schedule() {
    complete=" $(complete_and_planned | sed '/^=$/,$d' | tr '\n' ' ')"
    program_of_awk=$1
    shift
    for file in "$campaign"/schedule.tsv "$campaign"/schedule.private.tsv; do
        [ -f "$file" ] || continue
        kept=$(awk -F '\t' -v OFS='\t' -v complete="$complete" "$@" "{ is_complete = index(complete, \" \" \$1 \" \") } $program_of_awk" "$file") ||
            die 2 "cannot read '$file'"
        printf '%s\n' "$kept" | replace_file "$file" || die 2 "cannot write '$file' (not allowed, or no space left?)"
    done
}

# launch_failed MESSAGE: what is there stays, and is looked at where the experiment wants that; status 2
launch_failed() {
    release "$launch"
    [ -z "$judges_partial" ] || "$judges_partial"
    die 2 "$*"
}

# end_of_launch: what the launch ended with decides, not the launcher, whose status is often that of a rank that was told to end
end_of_launch() {
    figures=$(json_values --pass-damaged "$campaign/$launch/launch.json" -- ranks ended) || {
        release "$launch"
        exit 70
    }
    # nothing: it is not there, or was cut off
    taken_ranks=${figures%%"$tab"*} ended=${figures#*"$tab"}
    ended=${ended#-}
    case $interrupted,$ended in yes,* | *,interrupted)
        # a job ends when a node does
        keep_lost "$launch"
        stop_interrupted
        ;;
    esac
    # noiselab-accept ends with 1 after data errors, and is complete all the same
    [ "$launch_program,$ended" != noiselab-accept,complete ] || status=0
    [ "$status,$ended" = 0,complete ] || keep_lost "$launch"
    if [ "$status" != 0 ]; then
        [ -e "$campaign/$launch" ] ||
            launch_failed "launch $launch did not start ($starts_with ended with status $status$lost_words)$(other_launcher); $(how_to_go_on)"
        launch_failed "the measurement ended with status $status$lost_words; what was taken is in '$campaign'; $(how_to_go_on)"
    fi
    # srun ends with 0 after some losses of nodes, too
    [ "$ended" = complete ] ||
        launch_failed "launch $launch is not complete (${ended:-it has no end}$lost_words); what was taken is in '$campaign'; $(how_to_go_on)"
    [ "$taken_ranks" = $((use_nodes * per_node)) ] ||
        launch_failed "launch $launch has ${taken_ranks:-no} rank(s) in place of $((use_nodes * per_node))$(other_launcher)"
}

# other_launcher: what to try where the ranks did not find each other
other_launcher() {
    if [ "$starts_with" = srun ]; then
        printf ': if srun does not fit the MPI library of noiselab-detect, set NOISELAB_SRUN_MPI (see srun --mpi=list), or take --launcher mpirun'
    else
        printf ': if %s does not fit the MPI library of noiselab-detect, name another one in NOISELAB_MPIRUN' "$mpirun"
    fi
}

stop_interrupted() {
    release "$launch"
    end_on_signals
    # a TERM near the end of the job's time is the time limit's, which Slurm may send a minute early; any other one is somebody's wish
    # and a launch that did not fit into a whole job would not fit into the next one
    if [ -n "$requeue" ] && [ -n "$ends_at" ] && [ "$n_taken" -gt 0 ]; then
        [ $((ends_at - $(date +%s))) -gt $((reserve_s + 60)) ] || back_into_queue
    fi
    [ -z "$judges_partial" ] || "$judges_partial"
    die 2 "interrupted$lost_words; rows taken so far can be analysed: noiselab analyze ${analysis:+$analysis }'$campaign'; $(how_to_go_on)"
}

# put_aside LAUNCH: rows of an attempt that did not end are kept apart from those of the next one
put_aside() {
    [ -e "$campaign/$1" ] || return 0
    attempt=1
    while [ -e "$campaign/partial/$1.$attempt" ]; do attempt=$((attempt + 1)); done
    if ! { mkdir -p "$campaign/partial" && mv "$campaign/$1" "$campaign/partial/$1.$attempt"; } 2>/dev/null; then
        release "$1"
        die 2 "cannot move the unfinished launch '$campaign/$1' to '$campaign/partial'"
    fi
}

# measuring_seconds WORDS: those of --seconds, rounded up
measuring_seconds() {
    while [ $# -gt 1 ] && [ "$1" != --seconds ]; do shift; done
    awk -v ns="$(nanoseconds "${2-0}")" 'BEGIN { s = int(ns / 1e9); printf "%d\n", (s * 1e9 < ns ? s + 1 : s) }'
}

# describe RANKS WORDS: what makes this launch differ from the others, for people
describe() {
    what="one rank per core" level=''
    [ "$1" = - ] || what="$1 rank(s)"
    shift
    [ "$nodes_wanted" = - ] || what="$what on $nodes_wanted"
    find_arm "$@"
    while [ $# -gt 1 ]; do
        case $1 in
        --count) what="$what, blocks of $2 operations" ;;
        --levels) level="$2 %" ;;
        esac
        shift
    done
    level=${external:-$level}
    [ "$set" = - ] || what="$what, set $set"
    [ "$launch_program" != noiselab-accept ] || what="$what, checks"
    [ -z "$noise_node" ] || what="$what, $([ "$experiment" = advise ] || echo 'self-check with ')$level on $noise_node"
    case $arm in
    off) what="$what, off" ;;
    on) what="$what, $level" ;;
    esac
    echo "$what"
}

# time_left: how much longer it takes, from the second launch on
time_left() {
    [ "$n_taken" -gt 0 ] && [ -z "$only" ] || return 0
    echo ", some $(say_time "$(needed_seconds)") left"
}

# needed_seconds: what the launches that are left take
needed_seconds() {
    awk -v left="$left_s" -v n="$((n_planned - n_complete - n_taken))" -v start="$start_s" 'BEGIN { printf "%d\n", left + n * start + 1 }'
}

# refuse_short_time: a job that cannot hold the launches that are left is refused before the first; one that may go back into the queue must hold one
refuse_short_time() {
    n_taken=0
    [ -n "$ends_at" ] && [ -z "$only" ] && [ "$n_planned" != "$n_complete" ] || return 0
    need_s=$(needed_seconds)
    have_s=$((ends_at - $(date +%s)))
    [ -z "$requeue" ] && [ $((need_s + reserve_s)) -gt "$have_s" ] || return 0
    die 2 "the $((n_planned - n_complete)) launch(es) that are left take some $(say_time "$need_s"), and this job ends in $(say_time "$have_s")," \
        "of which it keeps the last $reserve_s s: ask for --time=$(slurm_time $((need_s * 5 / 4 + reserve_s)))," \
        "or go on from job to job (--requeue); '$campaign' can be resumed"
}

# leave_in_time: a launch that could not end in this job's time is not begun
leave_in_time() {
    [ -n "$ends_at" ] || return 0
    have_s=$((ends_at - $(date +%s)))
    [ $((seconds + start_s + reserve_s)) -gt "$have_s" ] || return 0
    release "$launch"
    [ -z "$requeue" ] || [ "$n_taken" = 0 ] || back_into_queue
    die 2 "the next launch takes some $((seconds + start_s)) s and would not end before this job does, in $(say_time "$have_s")," \
        "of which it keeps the last $reserve_s s; $((n_planned - n_complete - n_taken)) of $n_planned launches are left; $(how_to_go_on)"
}
