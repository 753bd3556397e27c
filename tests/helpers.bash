# What all tests written for bats share.

bats_require_minimum_version 1.5.0

# use_comma_locale: what follows runs where 1.5 is written 1,5; fails where that locale cannot be made
use_comma_locale() {
    local folder=$BATS_TEST_DIRNAME/../../${NOISELAB_BUILD:-build}/locale
    # in one step: suites run side by side
    [ -d "$folder" ] || { mkdir -p "$folder.$$" && localedef -i de_DE -f UTF-8 "$folder.$$/de_DE.UTF-8" &&
        mv -T "$folder.$$" "$folder"; } >/dev/null 2>&1 ||
        rm -rf "$folder.$$"
    [ -d "$folder" ] || return 1
    LOCPATH=$(cd "$folder" && pwd)
    # this shell itself may find it too late
    { export LOCPATH LC_ALL=de_DE.UTF-8; } 2>/dev/null
}

# what tests reckon themselves is in points
awk() { LC_ALL=C command awk "$@"; }

# "make check" runs the command-line tests so; messages of others stay English
if [ -n "${NOISELAB_COMMA-}" ] && use_comma_locale; then export LANGUAGE=en; fi

# tell: in teardown, of a test that failed: what it has run last, and the files that it has made; what it has
# mounted in its folder goes
tell() {
    [ -z "${BATS_TEST_COMPLETED-}" ] || return 0
    echo "status ${status-}, '${output-}', '${stderr-}'"
    find "$BATS_TEST_TMPDIR" -maxdepth 3 -type f -size -64k -printf '%d %p\n' | sort -n | cut -d ' ' -f 2- |
        xargs -r grep -Il . | head -n 40 | while read -r file; do
        echo "$file:"
        head -c 4000 "$file"
    done
    awk -v folder="$BATS_TEST_TMPDIR/" 'index($2, folder) == 1 { print $2 }' /proc/mounts |
        xargs -r umount -l || true
}

# what a test has started, and says so in `started`, ends with it
teardown() {
    tell
    kill -9 ${started-} 2>/dev/null || true
}

# ends STATUS COMMAND...: with that status, or one of several with | between them; it is in status
ends() {
    status=0
    "${@:2}" || status=$?
    [[ "|$1|" == *"|$status|"* ]]
}

# run_refused WANTED COMMAND...: status 2, and one line in $ERR, which holds WANTED; what a plan can see may
# stand before it
run_refused() {
    ends 2 "${@:2}"
    [ "$(grep -cv '^noiselab-run: plan: ' "$ERR")" -eq 1 ]
    grep -qF -- "$1" "$ERR"
}

# header: of a program of awk for files with names of columns: c["NAME"] is the number of the column
header='BEGIN { FS = "," } FNR == 1 { split("", c); for (i = 1; i <= NF; i++) c[$i] = i; next } '

# at_home: in setup: BUILD, the build folder; BIN, where the programs are, first in PATH; and the test's own
# folder is where it is
at_home() {
    BUILD=$(realpath "$BATS_TEST_DIRNAME/../../${NOISELAB_BUILD:-build}")
    BIN=${NOISELAB_BIN:-$BUILD/bin}
    PATH=$BIN:$PATH
    cd "$BATS_TEST_TMPDIR" || return
}

# allowed_cpus: sets cpus, those that may be used, first_cpu and last_cpu of them, and allowed, the same as
# the kernel lists them
allowed_cpus() {
    allowed=$(awk '/^Cpus_allowed_list:/ { print $2 }' /proc/$$/status)
    mapfile -t cpus < <(tr , '\n' <<<"$allowed" | awk -F - '{ for (i = $1; i <= $NF; i++) print i }')
    first_cpu=${cpus[0]} last_cpu=${cpus[-1]}
}

# has_ended PID: it is gone, or waits for a parent, which may be stopped
has_ended() { ! grep -qs '^State:[[:space:]]*[^ZX[:space:]]' "/proc/$1/status"; }

# wait_until SECONDS COMMAND...: until it succeeds
wait_until() {
    local until=$((SECONDS + $1))
    while ! "${@:2}"; do
        [ "$SECONDS" -lt "$until" ] || return 1
        sleep 0.1
    done
}

# has_rows: whether the launch into $OUT has some already
has_rows() { [ "$(cat "$OUT"/*/halves.csv 2>/dev/null | wc -l)" -gt 20 ]; }

# of_campaign [NAME]: processes, of that name, that `noiselab run` has started for launches of $OUT, whoever
# their parents are now
of_campaign() {
    local pid
    grep -lszF "NOISELAB_LAUNCH=$(readlink -f "$OUT")/" /proc/[0-9]*/environ | cut -d / -f 3 |
        while read -r pid; do
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" != "${1-$(cat "/proc/$pid/comm" 2>/dev/null)}" ] ||
            echo "$pid"
    done
}

none_of_campaign() { [ -z "$(of_campaign)" ]; }

# refused_by PROGRAM TEXT OPTION...: status 2, nothing on stdout, one line on stderr that begins with the
# program's name and holds TEXT
refused_by() {
    run -2 --separate-stderr "$1" "${@:3}"
    [ -z "$output" ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ "$stderr" == "$1: "*"$2"* ]]
}

# dry_by PROGRAM TEXT OPTION...: a dry run ends well, with TEXT on stdout and nothing on stderr
dry_by() {
    run -0 --separate-stderr "$1" --dry-run "${@:3}"
    [ -z "$stderr" ]
    [[ "$output" == *"$2"* ]]
}

# a_quarter ALGORITHM FILE...: halves.csv of campaigns of advise, of which that algorithm now takes a quarter
# of the others' time
a_quarter() {
    for file in "${@:2}"; do
        awk -F , -v OFS=, -v fast="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR > 1 {
            $at["wall_ns"] = $at["operations"] * ($at["operation"] ~ "=" fast ? 1000 : 4000) + \
                int(NR % 7) } 1' "$file" \
                >"$BATS_TEST_TMPDIR/quarter" &&
            cp "$BATS_TEST_TMPDIR/quarter" "$file"
    done
}

# ---- what cannot be made here

# leave_out REASON: in setup_file, where a `skip` stops nothing (bats 1.8 goes on with the file, and runs its
# tests): those that ask `left_out_or_go` are skipped with the reason. Without a reason nothing is left out.
leave_out() { export LEFT_OUT=$1; }

left_out_or_go() { [ -z "${LEFT_OUT-}" ] || skip "$LEFT_OUT"; }

# long_only: what is exhaustive, or tries again what a shorter test has tried
long_only() { [ "${NOISELAB_TESTS-}" = long ] || skip 'long: make test-long'; }

# needs_cpus NUMBER: that many that this process may use
needs_cpus() { [ "$(nproc)" -ge "$1" ] || skip "needs $1 CPUs, and $(nproc) may be used here"; }

# under_quota MICROSECONDS COMMAND...: in a cgroup of its own that has so much of each 100 ms; skips the test
# where none can be made
under_quota() {
    local quota=$1 folder status=0
    shift
    if [ -e /sys/fs/cgroup/cpu/cpu.cfs_quota_us ]; then
        folder=/sys/fs/cgroup/cpu/noiselab-test.$$
        { mkdir "$folder" && echo "$quota" >"$folder/cpu.cfs_quota_us"; } 2>/dev/null ||
            skip 'no cgroup of the CPU can be made here'
    else
        folder=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/noiselab-test.$$
        { mkdir "$folder" && echo "$quota 100000" >"$folder/cpu.max"; } 2>/dev/null ||
            skip 'no cgroup of the CPU can be made here'
    fi
    (echo "$BASHPID" >"$folder/cgroup.procs" && "$@") || status=$?
    until rmdir "$folder" 2>/dev/null; do sleep 0.1; done
    return "$status"
}

# needs PROGRAM...
needs() {
    for program in "$@"; do
        command -v "$program" >/dev/null || skip "$program is not installed (tests/deps.sh agents)"
    done
}

# ---- what judges the physical world

# A process of others on the CPUs of a test changes what the test measures, and a hypervisor does. `judge`
# looks at both, of the time since this file was read (which bats does for each test), in ticks of 10 ms:
# whatever the CPUs were busy with beside the processes that the test has started.

# cpu_ticks_of_others [PID]...: busy ticks of the allowed CPUs so far less those of this test, a blank, and
# ticks that a hypervisor took. The test is its process and those that came from it, as long as they or who
# waited for them can be seen; and the trees of the PIDs, which hang elsewhere.
cpu_ticks_of_others() {
    # a process that ends meanwhile has no line
    cat /proc/self/status /proc/stat /proc/[0-9]*/stat 2>/dev/null | awk -v roots="$$ $*" '
        $1 == "Cpus_allowed_list:" {
            n = split($2, part, ",")
            for (i = 1; i <= n; i++) {
                last = split(part[i], end, "-")
                for (cpu = end[1]; cpu <= end[last]; cpu++) allowed["cpu" cpu] = 1
            }
        }
        # user nice system idle iowait irq softirq steal
        $1 in allowed { busy += $2 + $3 + $4 + $7 + $8; steal += $9 }
        /^[0-9]+ \(/ {
            pid = $1
            sub(/.*\) /, "")
            # from the state on: the parent, and the times of its own and of those it waited for
            parent[pid] = $2
            used[pid] = $12 + $13 + $14 + $15
        }
        END {
            n = split(roots, root, " ")
            for (i = 1; i <= n; i++) ours[root[i]] = 1
            for (pid in parent) {
                for (p = pid; p in parent && !(p in ours); p = parent[p]) if (parent[p] == p) break
                if (p in ours) sum += used[pid]
            }
            printf "%d %d\n", busy - sum, steal
        }'
}

# disturbance: what others and a hypervisor took since this file was read or watch_machine was called, in
# percent of one CPU each. Of less than a second ticks say nothing. OWN_PIDS: roots of further trees of
# processes that are the test's. FILE_DISTURBANCE: what this function said of what setup_file measured, if it
# did; the worse one counts.
disturbance() {
    local others steal now=$EPOCHREALTIME
    read -r others steal < <(cpu_ticks_of_others ${OWN_PIDS-})
    awk -v others="$((others - OTHERS_AT_FIRST))" -v steal="$((steal - STEAL_AT_FIRST))" \
        -v us="$((${now/[.,]/} - ${FIRST/[.,]/}))" \
        -v file="${FILE_DISTURBANCE-}" 'BEGIN {
            s = us / 1e6
            o = s < 1 || others < 0 ? 0 : others / s
            h = s < 1 ? 0 : steal / s
            if (split(file, f, " ") == 2 && f[1] + f[2] > o + h) { o = f[1]; h = f[2] }
            printf "%.1f %.1f\n", o, h
        }'
}

watch_machine() {
    read -r OTHERS_AT_FIRST STEAL_AT_FIRST < <(cpu_ticks_of_others ${OWN_PIDS-})
    FIRST=$EPOCHREALTIME
}

disturbance_in_words() {
    local others steal
    read -r others steal < <(disturbance)
    echo "other processes had $others % of a CPU, a hypervisor $steal %"
}

# hidden_percent: of the time that a loop has a CPU by the kernel's account, what it does not get (gaps of
# more than 0.1 ms without a switch to another task), in percent; half a second on each of at most four CPUs.
# A hypervisor that does not say what it takes is seen by nothing else.
hidden_percent() {
    python3 -I - <<'END'
import os, resource, time

lost = total = 0
for cpu in sorted(os.sched_getaffinity(0))[-4:]:
    os.sched_setaffinity(0, {cpu})
    begin = last = time.perf_counter_ns()
    switches = resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
    while last < begin + 500_000_000:
        now = time.perf_counter_ns()
        if now - last > 100_000:
            before, switches = switches, resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw
            lost += now - last if switches == before else 0
            now = time.perf_counter_ns()
        last = now
    total += last - begin
print(f"{100 * lost / total:.1f}")
END
}

# judge COMMAND...: whether the measurement is as it must be. Where it is not, and others and a hypervisor had
# more than a fiftieth of a CPU meanwhile, or now take as much without a word, nobody can tell whose fault it
# is: the test is skipped with what they had. On a quiet machine it fails.
judge() {
    local status=0 words hidden
    "$@" || status=$?
    [ "$status" -ne 0 ] || return 0
    words=$(disturbance_in_words)
    hidden=$(hidden_percent)
    echo "not so: $*; $words, and $hidden % of CPU time is in no account"
    awk -v hidden="$hidden" '{ exit !($4 + $(NF - 1) > 2 || hidden > 2) }' <<<"$words" || return "$status"
    cannot_tell "this run was too disturbed to judge ($hidden % of CPU time is in no account)"
}

# cannot_tell WHY: skips; of itself where what was measured has told, and not by what is tested, that it was
# too disturbed. Not beside other tests: there the test fails, and run.sh takes it again alone.
cannot_tell() {
    [ -z "${NOISELAB_BESIDE-}" ] || return 1
    skip "$1: $(disturbance_in_words)"
}

watch_machine
