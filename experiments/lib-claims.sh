# Who runs which launch: array tasks, and a second --resume, share a campaign without file locks, which not every file system has. Sourced by lib.sh.
# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # variables are shared with the other parts
#
# To claim a launch is to make CAMPAIGN/claims/LAUNCH: mkdir succeeds for one only. Its file owner says who that is; a claim whose owner is gone is
# taken over by renaming it, which again succeeds for one only.

# process_start PID: when it started, in clock ticks since boot; tells it from a later process with the same number
process_start() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 20; }

# owner_line: host, process and its start, job and how often that was restarted; - where there is none
owner_line() { echo "$(uname -n) $$ $(process_start $$) ${SLURM_JOB_ID:--} ${SLURM_RESTART_COUNT:-0}"; }

# is_owner_gone CLAIM: only where that is sure
is_owner_gone() {
    if ! read -r owner_host owner_pid owner_start owner_job owner_restarts 2>/dev/null <"$1/owner"; then
        # between mkdir and the owner's name there is an instant
        [ -n "$(find "$1" -prune -mmin +1 2>/dev/null)" ]
        return
    fi
    if [ "$owner_job" != - ]; then
        if [ "$owner_job" = "${SLURM_JOB_ID-}" ]; then
            # the same job: of an earlier start of it, or of a process of this one
            [ "$owner_restarts" = "${SLURM_RESTART_COUNT:-0}" ] || return 0
        else
            state=$(squeue --noheader --jobs="$owner_job" --states=all --format=%T 2>&1)
            case $state in
            '' | *'Invalid job id'* | PENDING* | REQUEUED* | CANCELLED* | COMPLETED* | FAILED* | TIMEOUT* | PREEMPTED* | NODE_FAIL* | BOOT_FAIL* | \
                DEADLINE* | OUT_OF_MEMORY*) return 0 ;;
            esac
            return 1
        fi
    fi
    [ "$owner_host" = "$(uname -n)" ] || return 1
    [ "$(process_start "$owner_pid")" != "$owner_start" ]
}

# claim LAUNCH: fails when somebody else runs it
claim() {
    claim=$campaign/claims/$1
    mkdir -p "$campaign/claims" 2>/dev/null
    if ! mkdir "$claim" 2>/dev/null; then
        [ -d "$claim" ] || die 2 "cannot write into '$campaign/claims' (no space left, or not allowed?); $(how_to_go_on)"
        is_owner_gone "$claim" || return 1
        judged=$(cat "$claim/owner" 2>/dev/null)
        stale=$claim.stale.$(uname -n).$$
        mv "$claim" "$stale" 2>/dev/null || return 1
        # another one may have taken it over between the look and the rename: then it is theirs
        if [ "$(cat "$stale/owner" 2>/dev/null)" != "$judged" ]; then
            mv "$stale" "$claim" 2>/dev/null
            return 1
        fi
        rm -rf "$stale"
        mkdir "$claim" 2>/dev/null || return 1
    fi
    if ! owner_line | replace_file "$claim/owner"; then
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
