#!/usr/bin/env bats
# noiselab-accept on this machine: what it refuses, what it writes, what it leaves out, and how launches end.

load detect

setup_file() { export OMPI_MCA_mpi_yield_when_idle=1; }

# accept RANKS ARGUMENTS: a short launch `one`
accept() {
    local ranks=$1
    shift
    set -- "$BIN/noiselab-accept" --out "$OUT" --launch-id one --repetitions 2 "$@"
    if [ "$ranks" = 1 ]; then taskset -c "$FIRST_CPU" "$@" 2>"$ERR"; else on_cores "$ranks" "$@" 2>"$ERR"; fi
}

status_of() { jq -r --arg name "$1" '.checks[] | select(.name == $name) | .status' "$OUT/one/launch.json"; }
reason_of() { jq -r --arg name "$1" '.checks[] | select(.name == $name) | .reason' "$OUT/one/launch.json"; }

# figures CHECK METRIC COLUMN: the values of a column
figures() {
    awk -v check="$1" -v metric="$2" -v name="$3" "$header"'
        $c["check"] == check && $c["metric"] == metric { print $c[name] }' "$OUT/one/accept.csv"
}

# bats test_tags=quick
@test "options without sense, and campaigns that are a file or of another schema, are refused in one line" {
    DETECT="$BIN/noiselab-accept"
    refused "--checks: 'noise' is not a check" --checks latency,noise
    refused "--checks: 'latency' is not new in the list" --checks latency,latency
    refused "--sizes: '8x' is not a size" --sizes 8x
    refused "--sizes: '3GiB' is not a size that MPI can count" --sizes 3GiB
    refused "--repetitions: '1' is not a whole number from 2" --repetitions 1
    refused '--quick, --full: choose one' --quick --full
    refused "--checks: cpus: 'some' is not auto, allowed or ranks" --checks default:cpus=some
    refused "--checks: inject-fault: '0:1:262144' is not SENDER:RECEIVER:OFFSET, two different ranks and a \
byte from 0 to 262143" --checks integrity:inject-fault=0:1:262144
    refused "--checks: inject-fault: the check integrity, which it tests, is not among them" \
        --checks latency:inject-fault=0:1:5
    refused "--checks: inject-fault: there is no rank 1 among 1 ranks" --checks default:inject-fault=0:1:5
    refused "--launch-id: '../x' is not a plain name" --launch-id ../x
    touch "$BATS_TEST_TMPDIR/file"
    run_refused "is not a directory" "$BIN/noiselab-accept" --out "$BATS_TEST_TMPDIR/file" 2>"$ERR"
    mkdir -p "$OUT/old" && echo '{"schema": 99}' >"$OUT/old/launch.json"
    run_refused "has schema 99" "$BIN/noiselab-accept" --out "$OUT" 2>"$ERR"
}

# bats test_tags=quick
@test "a dry run prints the plan, whose seconds are those asked for, and writes nothing" {
    "$BIN/noiselab-accept" --dry-run --seconds 20 --repetitions 4 --checks quantum,detour,latency \
        --out "$OUT" | tee "$BATS_TEST_TMPDIR/plan"
    [ ! -e "$OUT" ]
    grep -q '^latency .*skipped: needs at least 2 ranks' "$BATS_TEST_TMPDIR/plan"
    awk '$1 == "latency" || $1 == "quantum" || $1 == "detour" { sum += $2 } END {
        exit !(sum > 19.7 && sum < 20.3) }' "$BATS_TEST_TMPDIR/plan"
}

# bats test_tags=mpi,quick
@test "two ranks run every check, and every row says where it comes from" {
    checks=$("$BIN/noiselab-accept" --list checks | awk '{ print $1 }' | paste -sd,)
    accept 2 --checks "$checks" --seconds 2 --sizes 0,8,1KiB,64KiB --seed 5
    jq -e '.ended == "complete" and .seed == "5" and .ranks == 2 and .wrong_data == 0 and .start.starts > 0' \
        "$OUT/one/launch.json"
    [ "$(jq -c '[.checks[].status] | unique' "$OUT/one/launch.json")" = '["ran"]' ]
    [ "$(jq .rows "$OUT/one/launch.json")" -eq $(($(wc -l <"$OUT/one/accept.csv") - 1)) ]
    awk -F , 'NR == 1 { n = NF; for (i = 1; i <= NF; i++) c[$i] = i; next }
        NF != n { print "fields: " $0; bad = 1 }
        $c["launch"] != "one" || $c["metric"] == "" || $c["unit"] == "" { print "nameless: " $0; bad = 1 }
        $c["rank"] != "" && ($c["host"] == "" || $c["node"] == "") { print "no place: " $0; bad = 1 }
        $c["value"] != "" && !($c["value"] >= 0 || $c["check"] == "opcost") { print "negative: " $0; bad = 1 }
        { seen[$c["check"], $c["repetition"]]++ }
        END {
            split("'"$checks"'", names, ",")
            for (i in names) for (r = 1; r <= 2; r++) if (!seen[names[i], r]) {
                print names[i], r, "missing"
                bad = 1
            }
            exit bad
        }' "$OUT/one/accept.csv"
    [ "$(figures integrity mismatches repetition | sort -u | paste -sd,)" = 1,2 ]
    # the loop of the scan is tight, and what is kept of detours is what was counted
    figures detour base value | awk '!($1 > 0 && $1 <= 30) { exit 1 }'
    counted=$(awk '/^# scan/ { for (i = 1; i < NF; i++) if ($i == "kept") n += $(i + 1) } END { print n }' \
        "$OUT"/one/detours.*.trace)
    [ "$counted" -eq "$(grep -vc '^#' "$OUT"/one/detours.*.trace)" ]
    [ "$(figures detour lost n | awk '{ n += $1 } END { print n }')" -eq \
        "$(awk -F , '$1 == "detour" { n += $11 } END { print n }' "$OUT/one/accept_hist.csv")" ]
    jq -e '.others | length == 1 and .[0].reason == null and .[0].n_cpus >= 1 and .[0].record.span_ns > 0' \
        "$OUT/one/launch.json"
    jq -e '.others[0].record | .source == "proc" or (.block_busy_ns | add) == .wall_on_cpu_ns' \
        "$OUT/one/launch.json"
    # every start had one rank that ended last
    figures collective last_end value | awk '{ sum += $1 } END { exit !(sum > 599.9 && sum < 600.1) }'
    # every figure that can be judged has its row in the analysis, in its unit
    if command -v Rscript >/dev/null; then
        R_LIBS="${BIN%/bin}/lib/noiselab/R" Rscript --vanilla -e '
            rows <- unique(read.csv(commandArgs(TRUE))[c("check", "variant", "metric", "unit")])
            known <- noiselab:::acceptance_measures
            name <- function(table) paste(table$check, table$metric, table$unit)
            is_judged <- !rows$check %in% "integrity" & !rows$metric %in% "wrong"
            lost <- rows[!name(rows) %in% name(known) & is_judged, ]
            cat(sprintf("%s %s (%s): %s\n", lost$check, lost$metric, lost$unit,
                "no measure() in analysis/R/acceptance-measures.R, or of a kind with another unit"), sep = "")
            about <- noiselab:::acceptance_checks
            is_known <- function(check, variant) {
              check %in% names(about) && variant %in% c("", about[[check]]$variants)
            }
            unknown <- rows[!mapply(is_known, rows$check, sub(":.*", "", rows$variant)), ]
            cat(sprintf("%s %s: not in common/contract/checks.table, or without this variant\n",
                        unknown$check, unknown$variant), sep = "")
            quit(status = nrow(lost) + nrow(unknown) > 0)' "$OUT/one/accept.csv"
    fi
    [ "$(figures kernels wrong value | sort -u)" = 0 ]
    [ ! -e "$OUT/one/mismatches.csv" ]
}

@test "quiet CPUs are waited for as long as asked, and who keeps them busy is named" {
    "$BIN/../bench/bench_busy" 400ms 500ms >/dev/null 3>&- &
    BUSY=$!
    accept 1 --checks detour --seconds 0.2 --wait-quiet 3s
    kill "$BUSY"
    grep -q 'noiselab-accept: .*--wait-quiet: the CPUs are not quiet after .*: CPU [0-9]* is [0-9]* % busy' \
        "$ERR"
    jq -e '.options.wait_quiet_ns == 3e9 and (.others[0] | (.was_quiet | not) and .waited_ns >= 1e9 and
        .waited_ns < 5e9)' "$OUT/one/launch.json"
    # what was waited for is not in the record of who ran
    jq -e '.others[0] | .record == null or .record.span_ns < 20e9' "$OUT/one/launch.json"
}

@test "one rank alone: what needs two is skipped with its reason, and the rest runs" {
    accept 1 --seconds 1
    for check in latency bandwidth opcost completeness topology collective; do
        [ "$(status_of $check) $(reason_of $check)" = "skipped needs at least 2 ranks, there is 1" ]
    done
    for check in integrity quantum detour; do [ "$(status_of $check)" = ran ]; done
}

# bats test_tags=mpi
@test "a byte that is flipped on its way is found in every repetition, with sender, receiver and place" {
    ends 1 accept 3 --checks integrity:inject-fault=2:1:4099 --seconds 0.4
    # the two sizes above 4099 bytes, in two repetitions
    [ "$(tail -n +2 "$OUT/one/mismatches.csv" | cut -d , -f 2,3,5,7,8 | sort -u | paste -sd ' ')" = \
        '1,2,1,16384,4099 1,2,1,262144,4099 2,2,1,16384,4099 2,2,1,262144,4099' ]
    # 0xff more or less in the last byte of the word
    awk -F , 'NR > 1 {
        if (substr($9, 3) != substr($10, 3) ||
            substr($9, 1, 2) == substr($10, 1, 2)) exit 1 }' "$OUT/one/mismatches.csv"
    [ "$(jq .wrong_data "$OUT/one/launch.json")" -eq 4 ]
    [ "$(figures integrity mismatches value | awk '{ n += $1 } END { print n }')" -eq 4 ]
    jq -e '.options.injected_fault == {sender: 2, receiver: 1, offset_bytes: 4099}' "$OUT/one/launch.json"
    [ "$(jq '[.warnings[] | select(startswith("--checks: inject-fault"))] | length' "$OUT/one/launch.json")" \
        -eq 1 ]
}

@test "a check that takes longer than planned makes fewer repetitions, and has every operation all the same" {
    accept 2 --checks opcost,detour --seconds 1ms --repetitions 3
    [ "$(status_of opcost)" = ran ]
    # what was planned holds none, so that each of two repetitions has half of the operations, and there is no
    # third
    [ "$(figures opcost published repetition | sort | uniq -c | awk '{ print $2 ":" $1 }' | paste -sd ' ')" \
        = '1:6 2:6' ]
    [ "$(figures opcost published variant | sort -u | wc -l)" -eq 12 ]
    [ "$(reason_of opcost)" = 'no time for all operations in each repetition: 1 to 1 figures of each' ]
    grep -q '2 of 3 repetitions: another one of' "$ERR"
    jq -e '.ended == "complete" and ([.checks[].repetitions] == [2, 2])' "$OUT/one/launch.json"
}

@test "sizes that memory does not hold are left out, and this is said" {
    # two buffers of 2 GiB each, on so many ranks that they are more than there is
    free_kib=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
    [ "$free_kib" -lt $((12 * 1024 * 1024 * 4)) ] || skip "more than 48 GiB are free"
    ranks=$((free_kib / (4 * 1024 * 1024) + 1))
    [ "$ranks" -gt 1 ] || ranks=2
    accept "$ranks" --checks latency,bandwidth --seconds 0.4 --sizes 8,1KiB,2147483647
    [ "$(status_of bandwidth)" = ran ]
    reason_of bandwidth | grep -q 'messages of 2147483647 bytes left out: 4095 MiB for each of'
    [ "$(figures bandwidth one_way bytes | sort -u)" = 1024 ]
}

@test "a signal ends a launch, and a killed one leaves rows that can be read" {
    for signal in TERM KILL; do
        rm -rf "$OUT"
        exec_on_cores 2 "$BIN/noiselab-accept" --out "$OUT" --launch-id one --seconds 100 --repetitions 100 \
            --checks integrity,latency \
            >/dev/null 2>"$ERR" 3>&- &
        MPIRUN=$!
        wait_for eval '[ "$(cat "$OUT/one/accept.csv" 2>/dev/null | wc -l)" -gt 3 ]'
        if [ "$signal" = TERM ]; then
            kill -TERM $(ranks_of "$MPIRUN" noiselab-accept); else kill -KILL "$MPIRUN"
        fi
        wait "$MPIRUN" || true
        unset MPIRUN
        fields=$(head -n 1 "$OUT/one/accept.csv" | tr , '\n' | wc -l)
        awk -F , -v n="$fields" 'NF != n { exit 1 }' "$OUT/one/accept.csv"
        if [ "$signal" = TERM ]; then jq -e '.ended == "interrupted" and (.rows > 2)' "$OUT/one/launch.json"
        else jq -e '.ended == null and .program == "noiselab-accept"' "$OUT/one/launch.json"; fi
        wait_for eval '! pgrep -f -- "--out $OUT" >/dev/null'
    done
}

@test "a CPU quota is named, and stands in the launch's warnings" {
    under_quota 20000 accept 1 --checks latency --sizes 8
    grep -qE 'a quota of 0.2 CPUs \(20 ms of every 100 ms, /sys/fs/cgroup/[^)]*\) holds for the '\
'1 rank\(s\) of .*: they are stopped' "$ERR"
    jq -e 'tostring | contains("a quota of 0.2 CPUs")' "$OUT/one/launch.json"
}

@test "rules that were made for another version of the library are said, and stand in the launch" {
    [[ $("$MPIRUN_COMMAND" --version 2>&1) = *'Open MPI'* ]] || skip 'the rules are of Open MPI'
    echo '# made by noiselab run advise: holds for Open MPI v0.9; each rule was tried and acts' \
        >"$BATS_TEST_TMPDIR/rules"
    OMPI_MCA_coll_tuned_dynamic_rules_filename=$BATS_TEST_TMPDIR/rules accept 1 --checks latency --sizes 8
    grep -qE "the rules of '.*/rules' hold for Open MPI v0.9, and this is Open MPI v" "$ERR"
    jq -e '.warnings | any(contains("hold for Open MPI v0.9"))' "$OUT/one/launch.json"
}

@test "a scan whose thread may not use its CPU is said to have failed, however soon it knows" {
    # the system begins the thread before it comes back to the rank
    shared unusable.so <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>
static __thread int is_scan;
static volatile int n_begun, n_refused;
static struct { void *(*run)(void *); void *argument; } begun;
static void *begin(void *nothing) {
    is_scan = 1;
    return begun.run(begun.argument);
}
int sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *set) {
    __typeof__(&sched_setaffinity) next = dlsym(RTLD_NEXT, "sched_setaffinity");
    if (!is_scan) return next(pid, size, set);
    n_refused++;
    errno = EINVAL;
    return -1;
}
int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*run)(void *), void *argument) {
    Dl_info info;
    __typeof__(&pthread_create) next = dlsym(RTLD_NEXT, "pthread_create");
    if (!dladdr((void *)run, &info) || !strstr(info.dli_fname, "noiselab-accept"))
        return next(thread, how, run, argument);
    begun.run = run;
    begun.argument = argument;
    int failed = next(thread, how, begin, NULL);
    for (n_begun++; !failed && n_refused < n_begun;) usleep(1000);
    usleep(50000);
    return failed;
}
END
    LD_PRELOAD=$BATS_TEST_TMPDIR/unusable.so accept 1 --checks detour --seconds 0.1s || true
    [ "$(status_of detour)" = failed ]
    [[ "$(reason_of detour)" == "rank 0 may not use CPU "*", or has no memory"* ]]
    [ -z "$(figures detour lost value)" ]
}
