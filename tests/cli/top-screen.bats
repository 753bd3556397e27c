#!/usr/bin/env bats
# The full screen of noiselab-top, looked at through tmux: keys, sizes, and what terminals that have no full
# screen get instead.

load ../helpers

setup_file() { command -v tmux >/dev/null || leave_out 'tmux is not installed (tests/deps.sh)'; }

setup() {
    left_out_or_go
    allowed_cpus
    at_home
    cp "$BUILD/bench/bench_busy" "nls-$$"
    "./nls-$$" 3ms 50ms 3>&- &
    busy=$!
    started=$busy
    export TMUX_TMPDIR=$BATS_TEST_TMPDIR
    unset TMUX
}

teardown() {
    tell
    tmux -L top kill-server 2>/dev/null || true
    kill -9 ${started-} 2>/dev/null || true
}

# begin COLUMNS LINES [COMMAND]: in a terminal of that size; the shell behind it says how it ended
begin() {
    tmux -L top -f /dev/null new-session -d -x "$1" -y "$2" \
        "${3:-noiselab-top --interval 500ms}; echo \"ended \$?\"; sleep 60"
}

screen() { tmux -L top capture-pane -p; }

shows() { screen | grep -qE -- "$1"; }

key() { tmux -L top send-keys "$@"; }

# fits COLUMNS LINES: the screen is no larger, and says what it has to say in the first lines
fits() {
    [ "$(screen | wc -l)" -le "$2" ]
    [ "$(screen | awk '{ if (length($0) > n) n = length($0) } END { print n }')" -le "$1" ]
    screen | head -n 1 | grep -q '^noiselab top  '
    screen | sed -n 2p | grep -q '^nodes like this, 1,000 of them, synchronising every 1 ms: '
}

@test "the screen fills 80 x 24 and 200 x 50, and follows a new size" {
    begin 80 24
    wait_until 10 shows "nls-$$"
    fits 80 24
    shows '^ +PID USER +COMMAND +UNIT +PER-S +LENGTH +PERIOD +SHARE% +CPUS'
    ! shows 'ENDED%'
    tmux -L top resize-window -x 200 -y 50
    wait_until 5 shows 'LONGEST +PERIOD +SHARE% +ENDED% +CPUS'
    wait_until 5 fits 200 50
    tmux -L top resize-window -x 30 -y 5
    wait_until 5 shows 'too small'
    tmux -L top resize-window -x 80 -y 24
    wait_until 5 shows "nls-$$"
    fits 80 24
    key q
    wait_until 5 shows 'ended 0'
}

@test "keys sort, choose CPUs, pause, show one task's bursts, explain themselves, and quit" {
    begin 100 30
    wait_until 10 shows "nls-$$"
    shows '^by share'
    key s
    wait_until 5 shows '^by bursts'
    key s s s
    wait_until 5 shows '^by pid'
    key s
    wait_until 5 shows '^by share'
    key h
    wait_until 5 shows '^q +quit'
    key h
    wait_until 5 shows '^by share'
    # a list that is wrong, and one that is right
    key c
    wait_until 5 shows '^CPUs \(0-3,8'
    key 4 0 0 0 Enter
    wait_until 5 shows "'4000' is not a list of CPUs that are here"
    key c "$first_cpu" Enter
    wait_until 5 eval \
        "[ \$(screen | grep -cE '^ +[0-9]+ +[0-9.]+ +[0-9.a-z-]+ +[0-9.a-z-]+ +[0-9.a-z-]+ +[0-9.]+ \
+[0-9.-]+ +[0-9.]+ ') -eq 1 ]"
    key c Enter
    # what is paused stands still, and comes back
    key p
    wait_until 5 shows '^paused'
    before=$(screen | head -n 1)
    sleep 1.2
    [ "$(screen | head -n 1)" = "$before" ]
    key p
    wait_until 5 eval '[ "$(screen | head -n 1)" != "$before" ]'
    # one task: the row of our own program
    for _ in $(seq 1 40); do
        key e
        wait_until 20 shows '^[^ ]+ \([0-9]+\)  user '
        ! shows "^nls-$$ \\($busy\\)" || break
        key e
        wait_until 20 shows '^by share'
        key Down
    done
    shows "^nls-$$ \\($busy\\)"
    if screen | head -n 1 | grep -q 'source cpu'; then
        wait_until 10 shows '^CPU time of its last bursts'
        wait_until 10 shows ' to .*#'
        shows '^When they were, from .* ago until now'
    else
        shows 'its single bursts are not seen by this source'
    fi
    key e
    wait_until 5 shows '^by share'
    key q
    wait_until 5 shows 'ended 0'
}

# with_fault FAULT OPTION...: noiselab-top in which that call fails once (tests/fault/fault.c)
with_fault() {
    echo "NL_FAULT=$1 NL_FAULT_HIT=$PWD/hit LD_PRELOAD=$BUILD/fault/fault.so" \
        "noiselab-top --interval 500ms ${*:2}"
}

@test "what the terminal did not take is shown with the next sample" {
    [ -e "$BUILD/fault/fault.so" ] || skip 'needs the library that fails calls (make tests-built)'
    # the titles of the tables do not change: who shows only what changed leaves them out for good. They are
    # in the seventh write, the first one of the first sample
    for number in 6 7 8; do
        rm -f hit
        begin 80 24 "$(with_fault write:$number:5)"
        wait_until 10 test -e hit
        wait_until 10 shows '^ +PID USER +COMMAND +UNIT +PER-S +LENGTH +PERIOD +SHARE% +CPUS'
        wait_until 10 shows '^ CPU +LOST% +LONGEST'
        wait_until 10 fits 80 24
        key q
        wait_until 5 shows 'ended 0'
        tmux -L top kill-server
        wait_until 5 eval '! tmux -L top ls 2>/dev/null'
    done
}

@test "without memory for the sample nothing is paused, and a line says so" {
    [ -e "$BUILD/fault/fault.so" ] || skip 'needs the library that fails calls (make tests-built)'
    # the pause is what asks for memory by realloc() then
    begin 80 24 "NL_FAULT_ON=$PWD/on $(with_fault realloc:1:12)"
    wait_until 10 shows "nls-$$"
    touch on
    key p
    wait_until 5 shows '^no memory to keep this sample: not paused'
    [ -e hit ]
    before=$(screen | head -n 1)
    wait_until 5 eval '[ "$(screen | head -n 1)" != "$before" ]'
    key p
    wait_until 5 shows '^paused'
    key q
    wait_until 5 shows 'ended 0'
}

@test "no colour is used, and the cursor comes back" {
    begin 80 24
    wait_until 10 shows "nls-$$"
    ! tmux -L top capture-pane -p -e | grep -qE $'\e\\[[0-9;]*(3[0-7]|4[0-7]|9[0-7])m'
    key q
    wait_until 5 shows 'ended 0'
    [ "$(tmux -L top display-message -p '#{cursor_flag}')" = 1 ]
    [ "$(tmux -L top display-message -p '#{alternate_on}')" = 0 ]
}

@test "a dumb terminal, and one that nobody knows, get lines, and one line says so" {
    begin 130 50 'TERM=dumb noiselab-top --rows 3 --interval 300ms --duration 600ms'
    wait_until 10 shows 'ended 0'
    shows "noiselab-top: this terminal \\(TERM=dumb\\) has no full screen: prints lines, as with --batch"
    shows '^noiselab top  '
    tmux -L top kill-server
    wait_until 5 eval '! tmux -L top ls 2>/dev/null'
    begin 130 50 'TERM=no-such-terminal noiselab-top --rows 3 --interval 300ms --duration 600ms'
    wait_until 10 shows 'ended 0'
    shows "noiselab-top: this terminal \\(TERM=no-such-terminal\\) has no full screen"
}

# bats test_tags=quick
@test "the pictures of the guide have the lines and columns of the screen as it is, and fit their terminals" {
    guide=$BATS_TEST_DIRNAME/../../docs/guides/live.md
    # picture SIZE: all pictures of that size, one after the other
    picture() {
        awk -v size="$1" '/^<!-- screen: / { wanted = $3 == size; next } /^```/ {
            inside = !inside; if (!inside) wanted = 0; next } wanted && inside' "$guide"
    }
    # has_titles SIZE: the screen has the titles of the picture
    has_titles() {
        local title
        for title in ' CPU +LOST%' ' +PID +USER'; do
            [ "$(screen | grep -E "^$title" | head -n 1 | sed 's/ *$//')" = \
                "$(picture "$1" | grep -E "^$title" | head -n 1)" ] || return 1
        done
    }
    begin 80 24
    wait_until 10 shows "nls-$$"
    for size in 80x24 200x50; do
        [ "$(picture $size | grep -c '^noiselab top  ')" -ge 1 ]
        picture $size | awk -v most="${size%x*}" 'length($0) > most { print; exit 1 }'
        picture $size | grep -q '^noiselab top itself: '
        tmux -L top resize-window -x "${size%x*}" -y "${size#*x}"
        wait_until 10 has_titles $size
    done
    picture 80x24 | grep -q '^CPU time of its last bursts'
}

@test "built without ncurses it prints lines, and one line says so" {
    long_only
    [ -z "${NOISELAB_INSTALLED-}" ] || skip 'what is installed is built already'
    make -C "$BATS_TEST_DIRNAME/../.." -s BUILD="$BATS_TEST_TMPDIR/plain" NCURSES=no \
        "$BATS_TEST_TMPDIR/plain/bin/noiselab-top"
    ! ldd "$BATS_TEST_TMPDIR/plain/bin/noiselab-top" | grep -E 'ncurses|tinfo'
    begin 130 50 "$BATS_TEST_TMPDIR/plain/bin/noiselab-top --rows 3 --interval 300ms --duration 600ms"
    wait_until 10 shows 'ended 0'
    shows "noiselab-top: built without ncurses: prints lines, as with --batch"
    shows '^noiselab top  '
}

@test "a terminal that goes without a signal ends it" {
    # as the terminal of no session: nobody gets SIGHUP
    timeout 30 python3 - <<'END'
import os, pty, subprocess, time
here, there = pty.openpty()
top = subprocess.Popen(["noiselab-top", "--interval", "200ms"], stdin=there, stdout=there, stderr=there,
                       start_new_session=True, env={**os.environ, "TERM": "xterm"})
os.close(there)
seen = b""
while b"noiselab top  " not in seen:
    seen += os.read(here, 4096)
os.close(here)
assert top.wait() == 0
END
}

@test "a signal ends it and leaves the terminal as it was" {
    begin 80 24
    wait_until 10 shows "nls-$$"
    pkill -TERM -P "$(tmux -L top display-message -p '#{pane_pid}')" -x noiselab-top
    wait_until 5 shows 'ended 0'
    [ "$(tmux -L top display-message -p '#{alternate_on}')" = 0 ]
}
