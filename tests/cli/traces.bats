#!/usr/bin/env bats
# Whoever reads a trace (noiselab gen --replay, project --trace, analyze equivalent) takes the same files as
# the same noise, and refuses the same ones in the same words. Files of other tools are as these write them;
# those of ftq and selfish are measured here.

load ../helpers

setup() {
    allowed_cpus
    at_home
}

# read_by_all FILE...: what each reader makes of each file, into FILE.READER.status and .said; those of R in
# one process
read_by_all() {
    local file
    for file in "$@"; do
        ends '0|2' "$BIN/noiselab-gen" --dry-run --replay "$file" --on "cpu:$first_cpu" >"$file.gen.said" 2>&1
        # a trace that names more CPUs than there are here is read, and not replayed
        ! grep -q 'CPUs\{0,1\}, but the trace has bursts for' "$file.gen.said" || status=0
        echo "$status" >"$file.gen.status"
    done
    R_ENABLE_JIT=0 R_LIBS="$BIN/../lib/noiselab/R" Rscript --vanilla -e '
        for (file in commandArgs(TRUE)) for (reader in c("project", "analyze")) {
          words <- if (reader == "project") c("--trace", file, "--nodes", "10", "--every", "1ms") else c("equivalent", file)
          said <- utils::capture.output(out <- utils::capture.output(status <- noiselab::run_program(paste0("noiselab-", reader), words)), type = "message")
          writeLines(format(status), paste0(file, ".", reader, ".status"))
          writeLines(c(out, said), paste0(file, ".", reader, ".said"))
        }' "$@"
}

# one_text FILE: what was said of it, without the ends of lines
one_text() { tr -s '\n ' '  ' <"$1"; }

# all_read FILE [WORDS]: all three took it, and R's say of it the same, which holds WORDS
all_read() {
    local reader
    for reader in gen project analyze; do
        [[ "$(cat "$1.$reader.status")" =~ ^[03]$ ]] || { echo "$1 by $reader:" && cat "$1.$reader.said" &&
            false; }
    done
    for reader in project analyze; do
        [[ "$(one_text "$1.$reader.said")" == *"${2-} bursts"* ]] || { echo "$1 by $reader, wanted ${2-}:" &&
            cat "$1.$reader.said" && false; }
    done
    [ -z "${2-}" ] || grep -qE "replay of ${2##* } bursts?[;,]|but the trace has bursts for" "$1.gen.said" ||
        { cat "$1.gen.said" && false; }
}

# all_refused FILE TEXT: all three did not take it, and say the same, which holds TEXT; it is in `reason`
all_refused() {
    local reader said
    for reader in gen project analyze; do
        [ "$(cat "$1.$reader.status")" = 2 ] || { echo "$1 by $reader:" && cat "$1.$reader.said" && false; }
        said=$(sed "s/^noiselab-$reader: //; s/^--replay: //" "$1.$reader.said")
        [ "$reader" != gen ] || reason=$said
        [ "$said" = "$reason" ] || { printf '%s\n' "$1: gen says" "$reason" "$reader says" "$said" && false; }
    done
    [[ "$reason" == *"$2"* ]] || { printf '%s\n' "$1 is refused by" "$reason" "wanted" "$2" && false; }
}

# of a trace that is good: what the lines of a table below are put behind
bursts() { for i in 0 1 2 3 4 5 6 7 8 9; do printf '%d000000\t%d00\t%s\n' "$i" $((i + 5)) "$1"; done; }

@test "what is no trace of this format is refused by all readers alike, with its line" {
    printf '0 0\n5 10\n' >zero
    bursts "0	spin	a	x	y	z" >eight
    bursts "0	burn" >kind
    printf '\357\273\277' >mark && bursts 0 >>mark
    printf '0\t5000000\t0\n1000000\t10\t0\n' >overlap
    printf '0 12\n1000 12\n2000 13\n3000 12\n4000 12\n' >micro
    printf '0.000 0.000012\n0.001 0.000012\n0.002 0.000012\n' >seconds
    printf '1000000 5000\n0 5000\n' >back
    printf '5000 5.5 x\n0 5\n' >column
    printf '# span_ns: 10\n0 5000\n1000000 5000\n' >span
    printf '# nothing\n' >none
    printf '0 5000\n1000000 5000 0\n' >columns
    printf '0 5000\n99999999999999999999 5000\n' >range
    { printf '0 5000'; printf '%300s\n' ''; } >long
    printf '0 600000\n1000000 700000\n2000000 600000\n' >load
    files='zero eight kind mark overlap micro seconds back column span none columns range long load'
    # shellcheck disable=SC2086
    read_by_all $files
    while IFS='|' read -r file text; do
        all_refused "$file" "$text"
    done <<'END'
zero|zero:1: the duration is not a positive whole number of ns
eight|eight:1: has more than five columns
kind|kind:1: the fourth column is not a kind of load (see --list kinds), nor -
mark|'mark' begins with a byte-order mark; this makes a trace of it: sed
overlap|overlap:2: overlaps the burst before it on this CPU, which ends at 5000000 ns
micro|'micro': 5 bursts in 5 us: busy for 1.22 % of a CPU, 1e+06 bursts per second, longest 13 ns: no operating system interrupts a CPU so briefly
seconds|'seconds': none of its 3 bursts lasts 1 ns: its times are in another unit than ns
back|back:2: starts before the burst above it: sort the trace by start
column|column:1: the third column is not a CPU number
span|'span': span_ns is 10, but its bursts last 1005000 ns
none|'none' holds no burst
columns|columns:2: has 3 columns, the lines before it have 2
range|range:2: the start is not a whole number of ns
long|long:1: is longer than 255 characters
load|no noise takes so much of a CPU
END
    # the commands that they name make traces of them
    for file in mark micro seconds; do
        all_refused "$file" ''
        [[ "$reason" =~ (sed|awk)\ .*\'$file\' ]]
        sh -c "${BASH_REMATCH[0]}" >"$file.trace"
    done
    read_by_all mark.trace micro.trace seconds.trace
    all_read mark.trace 'mark.trace: 10'
    all_read micro.trace 'micro.trace: 5'
    all_read seconds.trace 'seconds.trace: 3'
}

@test "share, rate and longest burst are said by whoever reads a trace" {
    printf '# span_ns: 2000000000\n0\t3000000\t%s\t-\tcron\n500000000\t12000000\t%s\t-\tcron\n' "$first_cpu" \
        "$first_cpu" >day.trace
    words='2 bursts on 1 CPU in 2 s: busy for 0.75 % of a CPU, 1 bursts per second, longest 12 ms'
    run -0 noiselab-project --trace day.trace --nodes 10 --every 1ms
    [[ "$(one_text <(echo "$output"))" == *"day.trace: $words"* ]]
    run -0 noiselab-analyze equivalent day.trace
    [[ "$(one_text <(echo "$output"))" == *"day.trace: $words"* ]]
    run -0 noiselab-gen --replay day.trace --dry-run
    [[ "$output" == *"with 0.75 % for 2 s: spin, replay of 2 bursts; 1 bursts per second, longest 12 ms" ]]
    run -0 --separate-stderr noiselab-gen --replay day.trace --pattern replay:scale-period=0.1 --json
    jq -e '.trace | .percent_of_cpu == 0.75 and .bursts_per_second == 1 and
        .longest_ns == 12000000' <<<"$output"
    run -0 --separate-stderr noiselab-gen --replay day.trace --pattern replay:scale-period=0.1
    [[ "$output" == *"the recording's 0.75 % ($words);"* ]]
}

# what other tools write, a file for each; where none of their own is to be had, as their documents show it
foreign_files() {
    "$BUILD/bench/bench_foreign" selfish 0.3 >selfish
    "$BUILD/bench/bench_foreign" ftq 0.3 >ftq
    # LogGOPSim's noise: of netgauge, without its head
    grep -v '^#' selfish >loggopsim
    # argobots' selfish
    printf '# start[usec] duration[usec]\n0.000000 3.250000\n998.120000 2.730000\n1998.500000 41.000000\n' \
        >usec
    # Documentation/trace/osnoise-tracer.rst, by /sys/kernel/tracing/trace and by trace-cmd report
    cat >osnoise <<END
# tracer: osnoise
#
#                                _-----=> irqs-off
#                               / _----=> need-resched
#           TASK-PID      CPU#  |||| |  TIMESTAMP  FUNCTION
       osnoise/0-961     [00$first_cpu] d.h.  5789.857532: irq_noise: local_timer:236 start 5789.857529929 duration 1845 ns
       osnoise/0-961     [00$first_cpu] dNh.  5789.858408: irq_noise: local_timer:236 start 5789.858404871 duration 2848 ns
     migration/0-54      [00$first_cpu] d...  5789.858413: thread_noise: migration/0:54 start 5789.858409300 duration 3068 ns
       osnoise/0-961     [00$first_cpu] ....  5789.858413: sample_threshold: start 5789.858404555 duration 8812 ns interference 2
END
    printf 'cpus=1\n%s\n' \
        "       osnoise/0-961   [00$first_cpu]  5789.857532: nmi_noise:            start 5789.857529929 \
duration 9000 ns" \
        "          <...>-961   [00$first_cpu]  5790.857532: softirq_noise:  SCHED:7 start 5790.857529929 \
duration 700 ns" >trace-cmd
    cat >osnoise-sums <<'END'
# tracer: osnoise
#           TASK-PID      CPU#   ||||    TIMESTAMP     IN US       IN US  AVAILABLE  IN US     HW    NMI    IRQ   SIRQ THREAD
            <...>-859   [000] ....    81.637220: 1000000        190  99.98100       9     18      0   1007     18      1
END
    cat >timerlat <<'END'
# tracer: timerlat
          <idle>-0       [000] d.h1    54.029328: #1     context    irq timer_latency       932 ns
           <...>-867     [000] ....    54.029339: #1     context thread timer_latency     11700 ns
END
    cat >function <<'END'
# tracer: function
            bash-1994    [000] .... 1050.117587: mutex_unlock <-rb_simple_write
END
    cat >hwlat <<'END'
# tracer: hwlat
           <...>-1638    [001] d.h.  1733.281234: #1     inner/outer(us):   12/14    ts:1733.281234567 count:1
           <...>-1638    [001] d.h.  1763.281234: #2     inner/outer(us):   21/9     ts:1763.281934567 count:1
END
    cat >switches <<'END'
# tracer: nop
#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION
          <idle>-0       [000] d..2.  100.000100: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=cron next_pid=77 next_prio=120
            cron-77      [000] d..2.  100.000350: sched_switch: prev_comm=cron prev_pid=77 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
          <idle>-0       [000] d..2.  100.010100: sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=sshd next_pid=80 next_prio=120
            sshd-80      [000] d..2.  100.010200: sched_switch: prev_comm=sshd prev_pid=80 prev_prio=120 prev_state=S ==> next_comm=cron next_pid=77 next_prio=120
            cron-77      [000] d..2.  100.010300: sched_switch: prev_comm=cron prev_pid=77 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
END
    cat >perf-script <<'END'
         swapper     0 [000]   100.000100:       sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=cron next_pid=77 next_prio=120
            cron    77 [000]   100.000350:       sched:sched_switch: prev_comm=cron prev_pid=77 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
         swapper     0 [000]   100.010350:       sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> next_comm=cron next_pid=77 next_prio=120
            cron    77 [000]   100.010400:       sched:sched_switch: prev_comm=cron prev_pid=77 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120
END
    cat >timehist <<'END'
           time    cpu  task name                       wait time  sch delay   run time
                        [tid/pid]                          (msec)     (msec)     (msec)
--------------- ------  ------------------------------  ---------  ---------  ---------
   79371.874569 [0000]  gcc[31949]                          0.014      0.000      1.148
   79371.874604 [0000]  <idle>                              1.148      0.000      0.035
   79371.974746 [0000]  my task[31949/12]                   0.153      0.078      0.022
END
    printf 'PERFILE2\001\002\n' >perf.data
    printf '\027\010Dtracing6\0\0' >trace.dat
    cat >rtla-top <<'END'
                                          Operating System Noise
duration:   0 00:00:04 | time is in us
CPU Period       Runtime        Noise  % CPU Aval   Max Noise   Max Single          HW          NMI          IRQ      Softirq       Thread
  0 #3           3000000        14870    99.50433        6145         1024           0            0         3080          221          109
END
    cat >rtla-hist <<'END'
# RTLA osnoise histogram
# Time unit is microseconds (us)
# Duration:   0 00:00:10
Index   CPU-000   CPU-001
0             1         5
END
    cat >rtla-timerlat <<'END'
# RTLA timerlat histogram
# Time unit is microseconds (us)
Index   IRQ-000   Thr-000
0           111         0
END
    printf '# /dev/cpu_dma_latency set to 0us\nT: 0 ( 1234) P:80 I:1000 C:  10000 Min:      2 Act:    3 Avg:    4 Max:      77\n' >cyclictest
    printf 'num_ranks 2\n\nrank 0 {\nl1: calc 100\n}\n' >goal
    printf 'launch,operation,bytes\none,barrier,0\n' >halves.csv
    printf '# start_ns\tduration_ns\tcpu\n# scan: repetition 1 variant all cpu 0 wall_ns 1000 detours 1 kept 1\n10\t500\t0\n' >detours
    gzip -c switches >gz
}

@test "files of other tools are read as the noise that they hold, or refused by name by all readers" {
    foreign_files
    read_by_all selfish ftq loggopsim usec osnoise trace-cmd osnoise-sums timerlat function hwlat switches \
        perf-script timehist perf.data trace.dat \
        rtla-top rtla-hist rtla-timerlat cyclictest goal halves.csv detours gz
    n=$(($(grep -vc '^#' selfish)))
    [ "$n" -ge 2 ]
    all_read selfish
    all_read loggopsim
    # one number of bursts, as often and as long, whoever reads it
    rate='[0-9.e+]+ bursts per second, longest [0-9.]+ [a-z]+'
    for file in selfish loggopsim; do
        [ "$(grep -oE "$rate" "$file.gen.said")" = \
            "$(one_text "$file.project.said" | grep -oE "$rate")" ]
    done
    all_read usec 'usec: 3'
    all_read osnoise 'osnoise: 3'
    all_read trace-cmd 'trace-cmd: 2'
    made=''
    while IFS='|' read -r file text bursts; do
        all_refused "$file" "$text"
        if [ -z "$bursts" ]; then
            [[ "$reason" != *'this makes a trace of it'* ]]
            continue
        fi
        [[ "$reason" == *"; this makes a trace of it: "* ]]
        sh -c "${reason#*; this makes a trace of it: }" >"$file.trace"
        made+=" $file.trace"
        [ "$bursts" = - ] || [ "$(wc -l <"$file.trace")" = "$bursts" ] || { cat "$file.trace" && false; }
    done <<'END'
ftq|'ftq' is of FTQ: its columns are times and amounts of work, not interruptions|-
osnoise-sums|is of osnoise and has its sums per second, but no single interruptions|
timerlat|is of the tracer timerlat|
function|is of Linux' tracer, with neither events of osnoise nor switches of tasks|
hwlat|is of the tracer hwlat|2
switches|has the switches of all tasks|3
perf-script|has the switches of all tasks|2
timehist|is of perf sched timehist|2
perf.data|is a recording of perf: write it as text|
trace.dat|is a recording of trace-cmd: write it as text|
rtla-top|is a table of rtla osnoise|
rtla-hist|is a histogram of rtla osnoise|
rtla-timerlat|is of rtla timerlat|
cyclictest|is of cyclictest|
goal|is a schedule of LogGOPSim (GOAL)|
halves.csv|is a table of noiselab|
detours|has the detours of noiselab-accept|
gz|is compressed by gzip|-
END
    rm gz.trace # a trace of switches, which is refused as such
    made=${made/ gz.trace/}
    # shellcheck disable=SC2086
    read_by_all $made
    for file in $made; do all_read "$file"; done
    # times and lengths are right
    [ "$(paste -sd ' ' switches.trace | tr '\t' +)" = \
        '100000100000+250000+0 100010100000+100000+0 100010200000+100000+0' ]
    [ "$(paste -sd ' ' timehist.trace | tr '\t' +)" = '79371873421000+1148000+0 79371974724000+22000+0' ]
    [ "$(paste -sd ' ' hwlat.trace | tr '\t' +)" = '1733281234567+14000 1763281934567+21000' ]
}
