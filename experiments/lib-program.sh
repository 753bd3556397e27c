# A program of the user's in place of the detector's operations (--app -- COMMAND): started before the detector, which follows its ranks, and waited
# for. Sourced by lib.sh.
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared with the other parts

# how long a program may take until MPI_Init
program_starts_s=60

# check_program: what goes with --app
check_program() {
    if [ -z "$app" ]; then
        [ -z "$app_words" ] || die 2 "'--': a command is followed with --app (noiselab run $experiment --app -- mpirun -n 4 ./app)"
        return 0
    fi
    [ -n "$app_words" ] || die 2 '--app: which program? Its command comes last, after -- (--app -- mpirun -n 4 ./app)'
    refuse_given ": with --app the program's own calls are timed, on the ranks and the machine it is started on; leave it out" \
        --op --bytes --ranks --hosts --node-sets --submit
    if in_slurm_job && [ "$n_nodes" -gt 1 ]; then die 2 '--app: a program is followed on one node, and this job has several'; fi
}

# start_profiled FOLDER NAME TOKEN COMMAND: becomes that program under the profile
start_profiled() {
    local folder=$1 name=$2 token=$3
    allow_root
    # the words were quoted for this
    eval "set -- $4"
    become "$NOISELAB_BIN/noiselab-profile" --no-answer --out "$folder" --launch-id "$name" -- "$@" </dev/null >"$folder/$name.log" 2>&1
}

# run_program LAUNCH COMMAND: starts it, with what it says in profiles/LAUNCH.log, and sets per_node and program_folder once its ranks are there
run_program() {
    program_folder=$campaign/profiles/$1 program_token=$token.program
    mkdir -p "$campaign/profiles" || die 2 "cannot make '$campaign/profiles' (not allowed, or no space left?)"
    "$NOISELAB_LIBEXEC/noiselab-sh" end "$program_token"
    # of an attempt that was not completed
    rm -rf "$program_folder"
    start_profiled "$campaign/profiles" "$1" "$program_token" "$2" &
    program_pid=$!
    now
    waits_until=$((REPLY + program_starts_s)) per_node=''
    while [ -z "$per_node" ] && [ "$interrupted" = no ]; do
        # the fields of the file's head, see detector/profile/profile_file.h; the first word comes last
        magic=''
        { IFS= LC_ALL=C read -r -N 6 magic <"$program_folder/rank.0.profile"; } 2>/dev/null
        [ "$magic" != NLPROF ] || read -r per_node < <(od -An -t d4 -j 20 -N 4 "$program_folder/rank.0.profile")
        now
        if ! kill -0 "$program_pid" 2>/dev/null || [ "$REPLY" -ge "$waits_until" ]; then break; fi
        sleep 0.2
    done
    use_nodes=1
    [ -n "$per_node" ] || [ "$interrupted" != no ] || {
        end_program
        launch_failed "the program did not come to MPI_Init, or ended at once$(program_said)"
    }
}

# program_said: its last line, for messages
program_said() {
    program_line=$(grep '[A-Za-z]' "$program_folder.log" 2>/dev/null | tail -n 1 | cut -c 1-200)
    [ -z "$program_line" ] || printf ' (its last words: %s; all: %s)' "$program_line" "$program_folder.log"
}

# wait_for_program: it is the user's own, and goes on to its end, unless nothing was measured or somebody asked to stop
wait_for_program() {
    if [ "$status" = 0 ] && [ "$interrupted" = no ]; then
        ! kill -0 "$program_pid" 2>/dev/null || note 'measured; the program goes on to its end'
        wait "$program_pid"
        program_status=$?
        [ "$interrupted" != no ] || [ "$program_status" = 0 ] || note "the program ended with status $program_status$(program_said)"
    fi
    end_program
}

end_program() {
    [ -n "${program_pid-}" ] || return 0
    kill -TERM "$program_pid" 2>/dev/null
    "$NOISELAB_LIBEXEC/noiselab-sh" end "$program_token" "$program_pid"
    program_pid=''
}
