#!/bin/bash
# agent: what a real agent or system service costs: switched on and off within launches, or launches with it against launches without
set -u
# shellcheck source=experiments/lib.sh
. "$NOISELAB_LIBEXEC/lib.sh"
# shellcheck source=experiments/lib-agent.sh
. "$NOISELAB_LIBEXEC/lib-agent.sh"

experiment=agent
analysis=''
own_options='
value agents treatment=treatment_asked agent-cmd agent-pid agent-cgroup agent-unit agent-on agent-off scrape scrape-period agent-cpu agent-found
value agent-name agent-timeout who
flag shell restart
value agent-period agent-settle sweep
maybe compare-replay
value levels design half-period block on=places
flag app
value op bytes seconds stop-when=ends_when
'

usage() {
    cat <<'EOT'
Usage: noiselab run agent WAY [OPTIONS]
       noiselab run agent --agents FILE [OPTIONS]
       noiselab run agent --treatment NAME [OPTIONS]

Runs noiselab-detect while the agent on the compute nodes is switched on and off in random order. Then it reports the
slowdown that the agent causes, its CPU use, and the smallest detectable slowdown. The synthetic load that is like it:
noiselab analyze equivalent DIR.

How the agent is switched (one of these ways):
  --agent-cmd 'CMD'       a command: started once, and frozen between; with --restart started and stopped for each stretch
  --agent-pid PID         a process with all it started: frozen and thawed, and left as it was found
  --agent-cgroup PATH     the same for a cgroup
  --agent-unit NAME       the same for a unit of systemd (NAME.service)
  --agent-on 'CMD' --agent-off 'CMD'  two commands that switch it: start a service, change an interval;
                          --agent-found on|off: how it was before, and is left; not given, it is off at the end
  --scrape 'CMD'          the command that scrapes a pull agent, every --scrape-period TIME; together with a way above, or
                          alone: then only scraping is toggled. TIME:scrape-cpu=LIST: the CPUs it runs on
  --shell                 run commands with sh -c; without it they are split into words, and nothing is expanded
  --agent-cpu LIST        CPUs of a started command; --noise-nodes all|first|LIST: nodes it runs on
  --agent-period TIME     the agent's sampling period; each stretch holds whole periods (default: the agent is recorded
                          before the launches, for at most 80 s (quick: a tenth of --seconds), and its period measured)
  --agent-settle TIME     time left out after each switch; --agent-name, --agent-timeout, --who: see
                          noiselab agent --help

Several agents, side by side in one table, their launches in random order:
  --agents FILE           a line for each: its name, and the options above (and --sweep, --design, ... below) that are its
                          own, such as:  top --agent-cmd 'top -b -d 1'  --agent-cpu 3.  # begins a comment

What is compared:
  --levels LIST           also a calibrated load (positive control), percent of one CPU (default: none)
  --sweep LIST            sampling intervals, such as 0.1s,1s,10s: launches for each, in random order; reports slowdown by
                          interval, and with --margin the shortest interval that stays below it. @INTERVAL@ in the
                          agent's command (and in --scrape-period) is replaced by the interval in seconds
  --sweep LIST:template=F the same with a configuration file with @INTERVAL@ in it; @FILE@ in the command is replaced by its path
  --compare-replay[=TIME] record the agent first, so long (default 10 periods, at least 10 s), and replay the recording as
                          a third arm of the same launches: is the slowdown the same?

  --design NAME           quick (default where it can be frozen: undisturbed stretches, and pairs of 25 and 250 ms), blocks
                          (default where it is started anew: --restart, --agent-on) or lockin (halves of whole periods;
                          default with --levels or --compare-replay)
  --seconds TIME          time of all launches together (of each interval; default 60 s, longer where seven pairs need
                          it). quick: recording, set-up and settling included; else settling comes on top, and is said
  --launches N            launches (default 1: the result is about this launch; of 30 s each unless --seconds says it).
                          From five on it is about launches like these
  --op LIST, --bytes LIST operations and sizes (default barrier,allreduce,alltoall and 2KiB)
  --app -- COMMAND        a program of yours in place of operations: COMMAND (mpirun -n 4 ./app) runs once for each
                          launch, and the agent is switched while it does. What is timed is its beat, an MPI call
                          that is found, or said by --beat (such as allreduce:8)
  --ranks N               number of ranks (default: one per allowed core)
  --stop-when decided     with --margin and --launches: look after each launch, and end when the margin is decided; each look
                          has alpha by the number of launches (default: never)
  --seed N                seed of all random orders (default: from the clock)

Treatments of whole launches; sets of two launches, with and without (default 10 sets, 20 s each):
  slurm-accounting        Slurm samples every process of the job, every S seconds (slurm-accounting:interval=S, default
                          1), against no sampling (--acctg-freq). The default in a Slurm job, or with --submit, without a way above

Everything else goes to noiselab-detect as it is (noiselab detect --help).

EOT
}

default_options() {
    op=barrier,allreduce,alltoall bytes=2KiB interval=''
}

refuse_option() {
    case $1 in
    --arms | --launch-id)
        die 2 "$1: the experiment sets it; leave it out"
        ;;
    --hosts) die 2 '--hosts: an agent is measured on this machine, or on the nodes of a Slurm job' ;;
    esac
}

check_options() {
    now
    seed=${seed:-$REPLY}
    countable "$seed"
    check_program
    [ -z "$app" ] || [ -z "$agents$treatment_asked" ] || die 2 "--app: with an agent that is switched while the program runs (--agent-cmd and the like)"
    if [ -n "$agents" ]; then
        check_agents "$@"
        return
    fi
    find_ways
    [ -n "$ways" ] || { check_treatment "$@"; return; }
    check_agent "$@"
    go_on "${agent_words[@]}"
}

# check_treatment WORDS: launches as a whole with and without
check_treatment() {
    refuse_given ': belongs to an agent that is switched within a launch (--agent-cmd and the like)' \
        --agent-period --agent-settle --agent-cpu --agent-name --sweep --compare-replay --levels --design --stop-when
    if [ -z "$treatment" ]; then
        no_slurm='there is no Slurm here'
        ! command -v srun >/dev/null || no_slurm='this is not a Slurm job'
        in_slurm_job || [ -n "$submit" ] ||
            die 2 "which agent? Give --agent-cmd, --agent-pid, --agent-cgroup, --agent-unit, --agent-on and --agent-off, or --scrape;" \
                "slurm-accounting would be the default, and $no_slurm"
        treatment=slurm-accounting
    fi
    interval=${interval:-1} launches=${launches:-10} seconds=${seconds:-20s}
    whole --launches "$launches"
    whole '--treatment: interval' "$interval"
    interval_s=$interval
    need_treatment "$treatment"
    ranks_column
    set -- --op "$op" --bytes "$bytes" --design single --seconds "$seconds" "$@"
    rehearse "$@" --arms "on:external=$treatment"
    go_on "$@"
}

plan_launches() {
    if [ -n "$agents" ]; then
        plan_agents "$@"
        return
    fi
    if [ -z "$treatment" ]; then
        plan_agent "$@"
        return
    fi
    on_each_set off on
    shuffled "$seed" "$launches" "$REPLY"
    while read -r round arm nodes_of_launch; do
        set_of_nodes "$round" "$nodes_of_launch"
        # shellcheck disable=SC2031 # of this shell
        row "$set_number" "$nodes_of_launch" "$ranks_planned" "$@" --arms "$arm:external=$treatment,set=$set_number" --seed "$((seed + row_number))"
    done < <(printf '%s\n' "${shuffled[@]}")
}

main "$@"
