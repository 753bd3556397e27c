# Who runs which launch: array tasks, and a second --resume, share a campaign without file locks, which not every file system has. Sourced by lib.sh.
# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # variables are shared with the other parts
#
# To claim a launch is to make CAMPAIGN/claims/LAUNCH: mkdir succeeds for one only. Its file owner says who that is; a claim whose owner is gone is
# taken over by making a folder in it that names this owner, for which again mkdir succeeds for one only.

# process_start PID: when it started, in clock ticks since boot; tells it from a later process with the same number
process_start() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 20; }

# where_we_run: boot, namespace of process numbers (containers of one host have its name, and numbers of their own), machine
where_we_run() {
    machine=$(cat /etc/machine-id 2>/dev/null)
    echo "$(cat /proc/sys/kernel/random/boot_id 2>/dev/null || echo -) $(readlink /proc/self/ns/pid 2>/dev/null || echo -) ${machine:--}"
}

# owner_line: host, process and its start, job and how often that was restarted, boot, namespace, machine; - where there is none
owner_line() { echo "$(uname -n) $$ $(process_start $$) ${SLURM_JOB_ID:--} ${SLURM_RESTART_COUNT:-0} $(where_we_run)"; }

# is_process_gone PID START: what cannot be looked at is not gone
is_process_gone() {
    now_start=$(process_start "$1")
    if [ -n "$now_start" ]; then
        [ "$now_start" != "$2" ]
        return
    fi
    # /proc may be mounted so that it hides others' processes
    case $(LC_ALL=C kill -0 "$1" 2>&1) in *'o such process'*) return 0 ;; esac
    return 1
}

# is_owner_gone CLAIM: only where that is sure; judged is the owner's line
is_owner_gone() {
    judged=$(cat "$1/owner" 2>/dev/null)
    if [ -z "$judged" ]; then
        # between mkdir and the owner's name there is an instant
        [ -n "$(find "$1" -prune -mmin +1 2>/dev/null)" ]
        return
    fi
    read -r owner_host owner_pid owner_start owner_job owner_restarts owner_boot owner_space owner_machine <<EOT
$judged
EOT
    if [ "$owner_job" != - ]; then
        if [ "$owner_job" = "${SLURM_JOB_ID-}" ]; then
            # the same job: of an earlier start of it, or of a process of this one
            [ "$owner_restarts" = "${SLURM_RESTART_COUNT:-0}" ] || return 0
        else
            # the last task of an array has the array's own number, by which squeue shows all its tasks: %A tells them apart
            state=$(squeue --noheader --jobs="$owner_job" --states=all --format='%A %T' 2>&1)
            case $state in
            "$owner_job "* | *"$newline$owner_job "*) state=$(printf '%s\n' "$state" | sed -n "s/^$owner_job //p" | tail -n 1) ;;
            esac
            case $state in
            '' | *'Invalid job id'* | PENDING* | REQUEUED* | CANCELLED* | COMPLETED* | FAILED* | TIMEOUT* | PREEMPTED* | NODE_FAIL* | BOOT_FAIL* | \
                DEADLINE* | OUT_OF_MEMORY*) return 0 ;;
            esac
            return 1
        fi
    fi
    [ "$owner_host" = "$(uname -n)" ] || return 1
    read -r boot space machine <<EOT
$(where_we_run)
EOT
    # of an older noiselab: none
    if [ "${owner_boot:-$boot}" != "$boot" ]; then
        # started anew since, if it is this machine; another one may have its name
        [ "$machine" != - ] && [ "${owner_machine:-$machine}" = "$machine" ]
        return
    fi
    [ "${owner_space:-$space}" = "$space" ] || return 1
    is_process_gone "$owner_pid" "$owner_start"
}

# make_claim: fails when it is there. Others may take away the claim, or the empty folder of all, between two steps of this: then once more.
make_claim() {
    for try in 1 2 3; do
        mkdir -p "$campaign/claims" 2>/dev/null
        mkdir "$claim" 2>/dev/null && return
        [ ! -d "$claim" ] || return
    done
    die 2 "cannot write into '$campaign/claims' (no space left, or not allowed?); $(how_to_go_on)"
}

# take_over CLAIM: from the owner that was judged; fails for all but one
take_over() {
    heir=$1/after-$(printf '%s' "$judged" | tr ' /' '__')
    # of one that was killed before its own name was there
    find "$heir" -prune -mmin +1 -exec rmdir {} + 2>/dev/null
    # between the look and this step another one may have taken it over, or run the launch
    mkdir "$heir" 2>/dev/null && [ "$(cat "$1/owner" 2>/dev/null)" = "$judged" ]
}

# claim LAUNCH: fails when somebody else runs it
claim() {
    claim=$campaign/claims/$1
    if ! make_claim; then
        is_owner_gone "$claim" && take_over "$claim" || return
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
