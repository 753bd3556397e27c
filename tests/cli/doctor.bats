#!/usr/bin/env bats
# noiselab doctor: what this machine permits, also to a user without rights, and without parts that are
# missing.

load run

# state CHECK: its state in what doctor --json said
state() { jq -r --arg check "$1" '.checks[] | select(.check == $check) | .state' "$BATS_TEST_TMPDIR/json"; }
of() {
    jq -r --arg check "$1" --arg key "$2" '.checks[] | select(.check == $check) | .[$key]' \
        "$BATS_TEST_TMPDIR/json"
}
experiment() {
    jq -r --arg name "$1" '.experiments[] | select(.experiment == $name) | .state' "$BATS_TEST_TMPDIR/json"
}

@test "the table has every check, what it means, and every experiment, and nothing is left behind" {
    # a folder of its own: somebody else may look at this machine at the same moment
    mkdir "$BATS_TEST_TMPDIR/tmp"
    orphans() { pgrep -P 1 -f 'noiselab-agent.*--dry-run' || true; }
    before=$(orphans)
    TMPDIR=$BATS_TEST_TMPDIR/tmp ends 0 "$BIN/noiselab" doctor >"$BATS_TEST_TMPDIR/table"
    [ -z "$(ls -A "$BATS_TEST_TMPDIR/tmp")" ]
    [ "$(orphans)" = "$before" ]
    experiments=$("$BIN/noiselab-run" --list-tables | cut -f 2)
    for name in privileges CPUs quota now clock governor preempted recording freezing loads Python MPI Slurm \
        LIKWID R $experiments; do
        grep -qE "^$name  +(ok|limited|MISSING)  " "$BATS_TEST_TMPDIR/table"
    done
    [ "$(awk '{ if (length > most) most = length } END { print most }' "$BATS_TEST_TMPDIR/table")" -le 100 ]
}

@test "JSON says the same, and what is limited says what that means or what would change it" {
    "$BIN/noiselab-doctor" --json >"$BATS_TEST_TMPDIR/json"
    jq -e '.schema == 1 and .program == "noiselab-doctor" and (.checks | length) == 15 and
        all(.checks[]; .here != null and
        (.state | IN("good", "limited", "missing")) and
            (.state == "good" or .means != null or .change != null))' "$BATS_TEST_TMPDIR/json"
    [ "$(state MPI) $(state R)" = 'good good' ]
    [[ "$(of CPUs here)" == "$("$BIN/noiselab-gen" --list cpus | awk '{ print $2 }') core(s) allowed"* ]]
    [ "$(experiment sensitivity)" != missing ]
    [ "$(of clock here)" = \
        "clock source $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)" ]
}

@test "without an mpirun, or with one that does not work, no experiment can run: status 2, and the package" {
    PATH=$(path_without "$BATS_TEST_TMPDIR/path" mpirun mpiexec orterun prterun srun sbatch) ends 2 \
        "$BIN/noiselab-doctor" --json >"$BATS_TEST_TMPDIR/json"
    [ "$(state MPI), $(of MPI here)" = 'missing, no mpirun and no srun in PATH' ]
    [[ "$(of MPI change)" == *openmpi-bin* ]]
    [ "$(experiment sensitivity) $(experiment agent) $(experiment analysis)" = 'missing missing good' ]
    slurm_stub mpirun <<<"case \$1 in --version) echo 'mpirun (Open MPI) 9.9' ;; *) echo 'noiselab-detect: \
no such library' >&2; exit 1 ;; esac"
    NOISELAB_MPIRUN=mpirun ends 2 "$BIN/noiselab-doctor" --json >"$BATS_TEST_TMPDIR/json"
    [ "$(of MPI here)" = 'mpirun (Open MPI) 9.9: cannot start ranks: no such library' ]
}

@test "without Python no experiment can run, and the package that would help is named" {
    old=$BATS_TEST_TMPDIR/python
    printf '#!/bin/sh\necho "noiselab-run: %s" >&2\nexit 2\n' \
        'Python 3.4 is too old: install Python 3.6 or later (package python3)' >"$old"
    chmod +x "$old"
    NOISELAB_PYTHON=$old ends 2 "$BIN/noiselab-doctor" --json >"$BATS_TEST_TMPDIR/json"
    [ "$(state Python), $(of Python here)" = \
        'missing, Python 3.4 is too old: install Python 3.6 or later (package python3)' ]
    [[ "$(of Python change)" == *'apt install python3'* ]]
    [ "$(experiment sensitivity) $(experiment analysis)" = 'missing good' ]
}

@test "without R experiments measure, and answer elsewhere" {
    PATH=$(path_without "$BATS_TEST_TMPDIR/path" Rscript) "$BIN/noiselab-doctor" \
        --json >"$BATS_TEST_TMPDIR/json"
    [ "$(state R) $(experiment sensitivity) $(experiment analysis)" = 'missing limited missing' ]
    [[ "$(of R means)" == *--finish* ]]
}

@test "a user without rights gets the same table, and nothing of the programs' own noise" {
    [ "$(id -u)" = 0 ] || skip 'only root can become another user'
    build=$(cd "$BIN/.." && pwd)
    folder=$(mktemp -d /tmp/noiselab-doctor-test.XXXXXX)
    chmod 755 "$folder"
    cp -R "$build/bin" "$build/libexec" "$build/share" "$build/lib" "$folder/"
    chmod -R a+rX "$folder"
    HOME=/ setpriv --reuid 65534 --regid 65534 --clear-groups "$folder/bin/noiselab-doctor" \
        --json >"$BATS_TEST_TMPDIR/json" 2>"$ERR" || bad=$?
    rm -rf "$folder"
    [ -z "${bad-}" ]
    [ ! -s "$ERR" ]
    [[ "$(of privileges here)" == 'user 65534'* ]]
    [ "$(state MPI)" = good ]
    # without rights there is less: at least one of these is limited, and says what would change it
    [ "$(state recording)$(state freezing)" != goodgood ]
    for check in recording freezing; do
        [ "$(state $check)" = good ] || [[ "$(of $check change)" == *root* ]]
    done
}

@test "one CPU is a limit that is said, and a CPU quota with its cgroup, which is no noise of others" {
    under_quota 50000 taskset -c "$FIRST_CPU" "$BIN/noiselab-doctor" --json >"$BATS_TEST_TMPDIR/json"
    [ "$(state CPUs) $(state quota)" = 'limited limited' ]
    [[ "$(of CPUs here)" == '1 core(s) allowed'* ]]
    [[ "$(of quota here)" == "0.5 CPUs (50 ms of every 100 ms, /sys/fs/cgroup/"*"noiselab-test.$$)" ]]
    [[ "$(of quota means)" == *'no noise of other tasks'* ]]
}

# setting NAME KEY: what doctor settings --json said of it
setting() {
    jq -r --arg name "$1" --arg key "$2" '.settings[] | select(.setting == $name) | .[$key]' \
        "$BATS_TEST_TMPDIR/json"
}

# bats test_tags=quick
@test "settings: each row of the table with its value here, and nothing is written" {
    strace_or_not=()
    if command -v strace >/dev/null; then
        strace_or_not=(strace -f -e trace=openat -o "$BATS_TEST_TMPDIR/calls")
    fi
    "${strace_or_not[@]}" "$BIN/noiselab-doctor" settings --json >"$BATS_TEST_TMPDIR/json"
    if [ -s "$BATS_TEST_TMPDIR/calls" ]; then
        ! grep -E 'O_WRONLY|O_RDWR|O_CREAT' "$BATS_TEST_TMPDIR/calls"
    fi
    jq -e '.schema == 1 and .program == "noiselab-doctor" and
        all(.settings[]; (.does | length) > 20 and (.permanent | length) > 5 and
        .is_permitted == (.why_not == null) and (.here != null or .why_not != null))' "$BATS_TEST_TMPDIR/json"
    [ "$(jq -r '.settings[].setting' "$BATS_TEST_TMPDIR/json")" = \
        "$(sed -n 's/^\(SYSCTL\|FILE\|BOOT\|TASK\)("\([^"]*\)".*/\2/p' \
        "$BATS_TEST_DIRNAME/../../experiments/command/settings.table")" ]
    [ "$(jq '.settings | length' "$BATS_TEST_TMPDIR/json")" -ge 25 ]
    [ "$(setting vm.swappiness here)" = "$(cat /proc/sys/vm/swappiness)" ]
    [ "$(setting skew_tick why_not)" = 'only a boot changes it' ]
    "$BIN/noiselab" doctor --json settings | jq -e '.settings | length >= 25'
    "$BIN/noiselab" doctor settings >"$BATS_TEST_TMPDIR/table"
    grep -qE "^vm.swappiness +$(cat /proc/sys/vm/swappiness)\$" "$BATS_TEST_TMPDIR/table"
    [ "$(awk '{ if (length > most) most = length } END { print most }' "$BATS_TEST_TMPDIR/table")" -le 100 ]
    ends 2 "$BIN/noiselab-doctor" setings 2>"$ERR"
    ends 2 "$BIN/noiselab-doctor" settings settings 2>"$ERR"
}

@test "settings: a user without rights is told that only root may" {
    [ "$(id -u)" = 0 ] || skip 'only root can become another user'
    folder=$(mktemp -d /tmp/noiselab-doctor-test.XXXXXX)
    cp "$BIN/noiselab-doctor" "$folder"
    chmod 755 "$folder"
    setpriv --reuid 65534 --regid 65534 --clear-groups "$folder/noiselab-doctor" settings \
        --json >"$BATS_TEST_TMPDIR/json"
    rm -r "$folder"
    [ "$(setting vm.swappiness is_permitted), $(setting vm.swappiness why_not)" = 'false, only root may' ]
    [ "$(setting vm.swappiness here)" = "$(cat /proc/sys/vm/swappiness)" ]
}
