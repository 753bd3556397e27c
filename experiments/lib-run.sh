# Runs what of a schedule is not complete, in its order, one launch after the other. Sourced by lib.sh.
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared with the other parts

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
    [ -z "$treatment" ] || need_treatment "$treatment"
    count_launches
    find_time_limit
    refuse_short_time
    REPLY=${schedule_values[nodes_planned]-}
    [ -z "$REPLY" ] || [ "$REPLY" = "$n_nodes" ] || [ -n "$only" ] ||
        note "planned on $REPLY node(s), and run on $n_nodes: launches on all nodes (-) differ in size from those before"
    catch_signals
    n_looks=${schedule_values[looks]-} is_decided=''
    n_taken=0 n_elsewhere=0 taken_s=0 started_s=0 is_replanned=yes
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
    local i
    local -a words
    is_replanned=''
    for i in "${!rows[@]}"; do
        number=$((i + 1))
        [ -z "$only" ] || [ "$only" = "${task_of[i]}" ] || continue
        # the words of a launch are its fields: only tabs divide them
        IFS=$tab read -ra words <<<"${rows[i]}"
        run_launch "${launch_ns[i]}" "${words[@]}"
        [ -z "$is_decided$is_replanned" ] || break
    done
}

how_to_go_on() { echo "go on with: noiselab run $experiment --resume '$campaign'"; }

# run_launch NS LAUNCH SET NODES RANKS WORDS
run_launch() {
    seconds=$((($1 + 999999999) / 1000000000)) launch=$2 set=$3 nodes_wanted=$4 ranks_wanted=$5
    shift 5
    is_complete "$launch" && return
    known_to_job "launch $launch" "$nodes_wanted"
    claim "$launch" || { n_elsewhere=$((n_elsewhere + 1)) && return; }
    # another one may have completed it between the look and the claim
    ! is_complete "$launch" || { release "$launch" && return; }
    take_launch_words "$@"
    shift "$n_launch_words"
    [ -z "$noise_node" ] || set -- --noise-nodes "$noise_node" "$@"
    leave_in_time
    put_aside "$launch"
    describe "$ranks_wanted" "$@"
    [ "$n_taken" = 0 ] || [ -n "$only" ] || { needed_seconds && say_time "$REPLY" && what+=", some $REPLY left"; }
    note "launch $number of $n_planned: $what"
    under_treatment "$@"
    set_progress
    one_launch "$launch" "$nodes_wanted" "$ranks_wanted" --out "$campaign" --launch-id "$launch" --progress "$progress" "$@"
    end_of_launch
    n_taken=$((n_taken + 1)) taken_s=$((taken_s + seconds)) started_s=$((started_s + took_s))
    start_s=$(((2 * (started_s - taken_s) + n_taken) / (2 * n_taken)))
    [ "$start_s" -ge 1 ] || start_s=1
    left_ns=$((left_ns - seconds * 1000000000))
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
    [ $? -le 1 ] || return 0
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
    local file
    find_complete
    for file in "$campaign"/schedule.tsv "$campaign"/schedule.private.tsv; do
        [ -f "$file" ] || continue
        kept=$(awk -F '\t' -v OFS='\t' -v complete=" ${!is_whole[*]} " "${@:2}" "{ is_complete = index(complete, \" \" \$1 \" \") } $1" "$file") ||
            die 2 "cannot read '$file'"
        replace_file "$file" "$kept" || die 2 "cannot write '$file' (not allowed, or no space left?)"
    done
    load_schedule
}

# launch_failed MESSAGE: what is there stays, and is looked at where the experiment wants that; status 2
launch_failed() {
    release "$launch"
    [ -z "$judges_partial" ] || "$judges_partial"
    die 2 "$*"
}

# end_of_launch: what the launch ended with decides, not the launcher, whose status is often that of a rank that was told to end
end_of_launch() {
    json_values --pass-damaged "$campaign/$launch/launch.json" -- ranks ended || {
        release "$launch"
        exit 70
    }
    # nothing: it is not there, or was cut off
    IFS=$tab read -r taken_ranks ended <<<"$REPLY"
    ended=${ended#-}
    # a job ends when a node does
    [[ $interrupted != yes && $ended != interrupted ]] || { keep_lost "$launch"; stop_interrupted; }
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
    local it=srun how='set NOISELAB_SRUN_MPI (see srun --mpi=list), or take --launcher mpirun'
    [ "$starts_with" = srun ] || it=$mpirun how='name another one in NOISELAB_MPIRUN'
    printf ': if %s does not fit the MPI library of noiselab-detect, %s' "$it" "$how"
}

stop_interrupted() {
    release "$launch"
    end_on_signals
    # a TERM near the end of the job's time is the time limit's, which Slurm may send a minute early; any other one is somebody's wish
    # and a launch that did not fit into a whole job would not fit into the next one
    if [ -n "$requeue" ] && [ -n "$ends_at" ] && [ "$n_taken" -gt 0 ]; then
        now
        [ $((ends_at - REPLY)) -gt $((reserve_s + 60)) ] || back_into_queue
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

# describe RANKS WORDS: sets what, by which this launch differs from the others, for people
describe() {
    local level=''
    what='one rank per core'
    [ "$1" = - ] || what="$1 rank(s)"
    shift
    [ "$nodes_wanted" = - ] || what+=" on $nodes_wanted"
    find_arm "$@"
    while [ $# -gt 1 ]; do
        case $1 in
        --count) what+=", blocks of $2 operations" ;;
        --levels) level="$2 %" ;;
        esac
        shift
    done
    level=${external:-$level}
    [ "$set" = - ] || what+=", set $set"
    [ "$launch_program" != noiselab-accept ] || what+=', checks'
    [ -z "$noise_node" ] || what+=", $([ "$experiment" = advise ] || echo 'self-check with ')$level on $noise_node"
    case $arm in off) what+=', off' ;; on) what+=", $level" ;; esac
}

# needed_seconds: sets REPLY to what the launches that are left take
needed_seconds() { REPLY=$((left_ns / 1000000000 + (n_planned - n_complete - n_taken) * start_s + 1)); }

# left_of_job: sets have_s, what is left of the job's time, and have, that for people
left_of_job() {
    now
    have_s=$((ends_at - REPLY))
    say_time "$have_s"
    have=$REPLY
}

# refuse_short_time: a job that cannot hold the launches that are left is refused before the first; one that may go back into the queue must hold one
refuse_short_time() {
    local need_s have have_s need
    n_taken=0
    [ -n "$ends_at" ] && [ -z "$only" ] && [ "$n_planned" != "$n_complete" ] || return 0
    needed_seconds
    need_s=$REPLY
    left_of_job
    [ -z "$requeue" ] && [ $((need_s + reserve_s)) -gt "$have_s" ] || return 0
    say_time "$need_s"
    need=$REPLY
    slurm_time "$((need_s * 5 / 4 + reserve_s))"
    die 2 "the $((n_planned - n_complete)) launch(es) that are left take some $need, and this job ends in $have," \
        "of which it keeps the last $reserve_s s: ask for --time=$REPLY," \
        "or go on from job to job (--requeue); '$campaign' can be resumed"
}

# leave_in_time: a launch that could not end in this job's time is not begun
leave_in_time() {
    local have have_s
    [ -n "$ends_at" ] || return 0
    left_of_job
    [ $((seconds + start_s + reserve_s)) -gt "$have_s" ] || return 0
    release "$launch"
    [ -z "$requeue" ] || [ "$n_taken" = 0 ] || back_into_queue
    die 2 "the next launch takes some $((seconds + start_s)) s and would not end before this job does, in $have," \
        "of which it keeps the last $reserve_s s; $((n_planned - n_complete - n_taken)) of $n_planned launches are left; $(how_to_go_on)"
}
