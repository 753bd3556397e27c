# What the tests of noiselab-detect share.

load ../mpirun
load ../helpers

setup() {
    BIN="$BATS_TEST_DIRNAME/../../${NOISELAB_BUILD:-build}/bin"
    DETECT="$BIN/noiselab-detect"
    OUT="$BATS_TEST_TMPDIR/campaign"
    ERR="$BATS_TEST_TMPDIR/stderr"
    FIRST_CPU=$(taskset -cp $$ | sed 's/.*: *\([0-9]*\).*/\1/')
    # Open MPI leaves the shared memory of killed ranks behind: here it goes with the test
    SHM=$(mktemp -d -p /dev/shm noiselab-test.XXXXXX)
    # of Open MPI 4, and of 5
    export OMPI_MCA_btl_vader_backing_directory="$SHM" OMPI_MCA_btl_sm_backing_directory="$SHM"
}

# launch RANKS ARGUMENTS: the detector on this machine; skips the test where the ranks, unless they may share
# CPUs, have not enough
launch() {
    local ranks=$1
    shift
    [[ " $* " == *' --oversubscribe '* ]] || needs_cpus "$ranks"
    # one rank needs no launcher, which takes a second and more
    if [ "$ranks" = 1 ]; then
        taskset -c "$FIRST_CPU" "$DETECT" --out "$OUT" "$@" 2>"$ERR"
    else
        on_cores "$ranks" "$DETECT" --out "$OUT" "$@" 2>"$ERR"
    fi
}

# refused WANTED ARGUMENTS: status 2, one line on stderr that holds WANTED, nothing on stdout, no campaign
refused() {
    ends 2 "$DETECT" --out "$OUT" "${@:2}" >"$BATS_TEST_TMPDIR/stdout" 2>"$ERR"
    [ "$(wc -l <"$ERR")" -eq 1 ]
    grep -qF -- "$1" "$ERR"
    [ ! -s "$BATS_TEST_TMPDIR/stdout" ]
    [ ! -e "$OUT" ]
}

# fails_with STATUS WANTED COMMAND...: a status, and a line on stderr that holds WANTED
fails_with() {
    ends "$1" "${@:3}" >"$BATS_TEST_TMPDIR/stdout"
    grep -qF -- "$2" "$ERR"
}

json() { jq -c "$1" "$OUT/one/launch.json"; }

# single RANKS ARGUMENTS: the launch `one` of one loop
single() { launch "$1" --design single --levels none --warmup 0s --launch-id one "${@:2}"; }

# end_when COMMAND...: a program that is followed ends once that succeeds. It looks twice a second: ten times
# took a tenth of the ranks' CPUs.
end_when() { (for _ in {1..240}; do "$@" && break || sleep 0.5; done; touch end) >/dev/null 2>&1 3>&- & }

is_complete() { grep -qs '^  "ended": "complete"' c/*/launch.json; }

# shared NAME: a library of the source on stdin, for LD_PRELOAD or in place of another
shared() { "${CC:-cc}" -shared -fPIC -o "$BATS_TEST_TMPDIR/$1" -x c - -ldl; }

# column NAME FILE: the values of a column
column() {
    awk -F , -v name="$1" "$header"'{ print $c[name] }' "$2"
}

# CPU time of a process in ticks of 10 ms; 0 once it is gone
cpu_ticks() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | awk '{ t = $12 + $13 } END { print t + 0 }'; }

is_gone() { [ ! -e "/proc/$1/stat" ] || grep -q ') Z' "/proc/$1/stat"; }

# no_load_of PID: one second from now it runs nothing more, and soon it is gone
no_load_of() {
    sleep 1
    local before
    before=$(cpu_ticks "$1")
    sleep 0.5
    [ "$(cpu_ticks "$1")" -le "$before" ]
    wait_until 10 is_gone "$1"
}

# wait_for COMMAND...: until it succeeds; a minute, for a machine that is busy
wait_for() { wait_until 60 "$@"; }

generator_of() { pgrep -P "$(ranks_of "$1" | paste -sd ,)" -x noiselab-gen || true; }

has_generator() { [ -n "$(generator_of "$1")" ]; }

# background ARGUMENTS: a long launch on two ranks; sets MPIRUN to the pid of its mpirun once rows come
background() {
    needs_cpus 2
    # 3>&-: bats waits for whoever holds its output
    exec_on_cores 2 "$DETECT" --out "$OUT" --op barrier --warmup 0s --seconds 60 \
        --launch-id one "$@" >/dev/null 2>"$ERR" 3>&- &
    MPIRUN=$!
    wait_for has_rows
}

# nothing of a launch in the background stays, nor of an agent beside it
teardown() {
    tell
    kill -9 ${MPIRUN-} ${AGENT-} ${started-} 2>/dev/null || true
    rm -rf "$SHM" ${THEIRS:+"$THEIRS"}
}

# described_columns FILE: those that formats.md describes of FILE.csv, in that order
described_columns() {
    awk -v of="## $1.csv" 'index($0, "## ") == 1 { within = index($0, of) == 1 }
        within && /^\| `/' "$BATS_TEST_DIRNAME/../../docs/reference/formats.md" |
        cut -d '|' -f 2 | grep -oE '`[a-z0-9_]+`' | tr -d '`' | paste -sd ,
}
