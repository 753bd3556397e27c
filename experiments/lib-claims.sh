# Who runs which launch: array tasks, and a second --resume, share a campaign without file locks, which not every file system has. Sourced by lib.sh.
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared with the other parts
#
# To claim a launch is to make CAMPAIGN/claims/LAUNCH: mkdir succeeds for one only. Its file owner says who that is; a claim whose owner is gone is
# taken over by making a folder in it that names this owner, for which again mkdir succeeds for one only.

# line_of FILE: sets REPLY to its first line, empty where it cannot be read
line_of() {
    REPLY=''
    { read -r REPLY <"$1"; } 2>/dev/null
    [ -n "$REPLY" ]
}

# process_start PID: sets REPLY to when it started, in clock ticks since boot; tells it from a later process with the same number. Empty: not known
process_start() {
    local -a fields
    line_of "/proc/$1/stat" || return 0
    # from the third one on: the second, a name, may hold anything
    read -ra fields <<<"${REPLY##*) }"
    REPLY=${fields[19]-}
}

# find_self: sets this_host, and space, the namespace of process numbers: containers of one host have its name, and numbers of their own
find_self() {
    [ -z "${space-}" ] || return 0
    line_of /proc/sys/kernel/hostname
    this_host=$REPLY
    space=$(readlink /proc/self/ns/pid 2>/dev/null) || space=-
}

# owner_line: sets boot, machine, this_host and space, and REPLY: host, process and its start, job and how often that was restarted, boot, namespace,
# machine; - where there is none
owner_line() {
    find_self
    line_of /proc/sys/kernel/random/boot_id || REPLY=-
    boot=$REPLY
    line_of /etc/machine-id || REPLY=-
    machine=$REPLY
    process_start $$
    REPLY="$this_host $$ $REPLY ${SLURM_JOB_ID:--} ${SLURM_RESTART_COUNT:-0} $boot $space $machine"
}

# is_process_gone PID START: what cannot be looked at is not gone
is_process_gone() {
    process_start "$1"
    # /proc may be mounted so that it hides others' processes
    if [ -n "$REPLY" ]; then [ "$REPLY" != "$2" ]; else [[ $(LC_ALL=C kill -0 "$1" 2>&1) == *'o such process'* ]]; fi
}

# is_job_gone JOB: as Slurm knows it
is_job_gone() {
    local state
    # the last task of an array has the array's own number, by which squeue shows all its tasks: %A tells them apart
    state=$newline$(squeue --noheader --jobs="$1" --states=all --format='%A %T' 2>&1)
    state=${state##*"$newline$1 "}
    case ${state#"$newline"} in
    '' | *'Invalid job id'* | PENDING* | REQUEUED* | CANCELLED* | COMPLETED* | FAILED* | TIMEOUT* | PREEMPTED* | NODE_FAIL* | BOOT_FAIL* | \
        DEADLINE* | OUT_OF_MEMORY*) return 0 ;;
    esac
    return 1
}

# is_owner_gone CLAIM: only where that is sure; judged is the owner's line
is_owner_gone() {
    local owner_host owner_pid owner_start owner_job owner_restarts owner_boot owner_space owner_machine
    line_of "$1/owner"
    judged=$REPLY
    if [ -z "$judged" ]; then
        # between mkdir and the owner's name there is an instant
        [ -n "$(find "$1" -prune -mmin +1 2>/dev/null)" ]
        return
    fi
    read -r owner_host owner_pid owner_start owner_job owner_restarts owner_boot owner_space owner_machine <<<"$judged"
    if [ "$owner_job" = "${SLURM_JOB_ID-}" ]; then
        # the same job: of an earlier start of it, or of a process of this one
        [ "$owner_restarts" = "${SLURM_RESTART_COUNT:-0}" ] || return 0
    elif [ "$owner_job" != - ]; then
        is_job_gone "$owner_job"
        return
    fi
    owner_line
    [ "$owner_host" = "$this_host" ] || return 1
    if [ "${owner_boot:-$boot}" != "$boot" ]; then
        # started anew since, if it is this machine; another one may have its name
        [ "$machine" != - ] && [ "${owner_machine:-$machine}" = "$machine" ]
        return
    fi
    [ "${owner_space:-$space}" = "$space" ] && is_process_gone "$owner_pid" "$owner_start"
}

# make_claim: fails when it is there. Others may take away the claim, or the empty folder of all, between two steps of this: then once more.
make_claim() {
    local try
    for try in 1 2 3; do
        [ -d "$campaign/claims" ] || mkdir -p "$campaign/claims" 2>/dev/null
        mkdir "$claim" 2>/dev/null && return
        [ ! -d "$claim" ] || return
    done
    die 2 "cannot write into '$campaign/claims' (no space left, or not allowed?); $(how_to_go_on)"
}

# take_over CLAIM: from the owner that was judged; fails for all but one
take_over() {
    local heir=$1/after-${judged//[ \/]/_}
    # of one that was killed before its own name was there
    find "$heir" -prune -mmin +1 -exec rmdir {} + 2>/dev/null
    # between the look and this step another one may have taken it over, or run the launch
    mkdir "$heir" 2>/dev/null || return
    line_of "$1/owner"
    [ "$REPLY" = "$judged" ]
}

# claim LAUNCH: fails when somebody else runs it
claim() {
    claim=$campaign/claims/$1
    if ! make_claim; then
        is_owner_gone "$claim" && take_over "$claim" || return
    fi
    owner_line
    if ! replace_file "$claim/owner" "$REPLY"; then
        rm -rf "$claim"
        die 2 "cannot write into '$claim' (no space left?); $(how_to_go_on)"
    fi
}

# release LAUNCH
release() {
    rm -rf "$campaign/claims/$1"
    rmdir "$campaign/claims" 2>/dev/null
    return 0
}
