#!/bin/sh
# agent: what a real agent or system service costs: switched on and off within launches, or launches with it against launches without
set -u
# shellcheck source=experiments/lib.sh
. "$NOISELAB_LIBEXEC/lib.sh"
# shellcheck source=experiments/lib-agent.sh
. "$NOISELAB_LIBEXEC/lib-agent.sh"

experiment=agent
analysis=''
own_options='
--treatment          value  treatment
--interval           value  interval
--agent-cmd          value  agent_cmd
--agent-pid          value  agent_pid
--agent-cgroup       value  agent_cgroup
--agent-unit         value  agent_unit
--agent-on           value  agent_on
--agent-off          value  agent_off
--scrape             value  scrape
--scrape-period      value  scrape_period
--scrape-cpu         value  scrape_cpu
--agent-cpu          value  agent_cpu
--agent-name         value  agent_name
--agent-timeout      value  agent_timeout
--who                value  who
--keep-bursts        value  keep_bursts
--shell              flag   shell
--agent-period       value  agent_period
--agent-settle       value  agent_settle
--agent-nodes        value  agent_nodes
--sweep              value  sweep
--interval-template  value  interval_template
--compare-replay     flag   compare_replay
--record-for         value  record_for
--levels             value  levels
--design             value  design
--half-period        value  half_period
--block              value  block
--on                 value  places
--op                 value  op
--bytes              value  bytes
--seconds            value  seconds
'

usage() {
    cat <<'EOT'
Usage: noiselab run agent WAY [OPTIONS]
       noiselab run agent --treatment NAME [OPTIONS]

Launches of noiselab-detect in which the agent is switched on and off in random order on the compute nodes; then what
it costs, where its CPU time went, which synthetic load is like it, and what could have been seen.

How the agent is switched (one of these ways):
  --agent-cmd 'CMD'       a command: started and stopped for each stretch
  --agent-pid PID         a process with all it started: frozen and thawed, and left as it was found
  --agent-cgroup PATH     the same for a cgroup
  --agent-unit NAME       the same for a unit of systemd (NAME.service)
  --agent-on 'CMD' --agent-off 'CMD'  two commands that switch it: start a service, change an interval
  --scrape 'CMD'          what asks a pull agent, every --scrape-period TIME; beside a way above, or alone: then only the
                          asking is switched. --scrape-cpu LIST: the CPUs it runs on
  --shell                 commands are for a shell; without it noiselab splits them into words, and nothing is expanded
  --agent-cpu LIST        CPUs of a started command; --agent-nodes all|first|LIST: nodes it runs on
  --agent-period TIME     the agent's own period: stretches hold whole ones (default: the agent is recorded before the
                          launches, at most 85 s, and its period measured)
  --agent-settle TIME     not measured after each switch; --agent-name, --agent-timeout, --who, --keep-bursts: as in
                          noiselab detect --help

What is compared:
  --levels LIST           also a calibrated load (positive control), percent of one CPU (default: none)
  --sweep LIST            intervals of the agent, such as 0.1s,1s,10s: launches for each, in random order; then slowdown
                          against interval, and with --margin the shortest that stays below it. @INTERVAL@ in the
                          agent's words (and in --scrape-period) becomes the interval in seconds
  --interval-template F   a file with @INTERVAL@ in it, made for each interval; @FILE@ in the agent's words is its path
  --compare-replay        the agent is recorded first, and its recording replayed beside it, in the same launches: is the
                          slowdown the same?  --record-for TIME: how long (default 10 periods, and 10 s at least)

  --design NAME           lockin (default; halves of whole periods) or blocks (default where starting is what switches)
  --launches N            launches (default 5; of each interval); --seconds TIME: measuring time of each (default: 72 s,
                          6 min in all, and longer where seven pairs of stretches take longer). With fewer than five the
                          answer is about these launches, and launches like these come second
  --op LIST, --bytes LIST operations and sizes (default barrier,allreduce,alltoall and 2KiB)
  --ranks N               number of ranks (default: one per allowed core)
  --seed N                seed of all random orders (default: from the clock)

Treatments that a launch as a whole is under; sets of two launches, with and without (default 10 sets, 20 s each):
  slurm-accounting        Slurm looks at every process of the job, each --interval S (whole seconds, default 1) against
                          never (--acctg-freq). In a Slurm job, or with --submit, the default where no way is given

Everything else goes to noiselab-detect as it is (noiselab detect --help).

EOT
}

default_options() {
    op=barrier,allreduce,alltoall bytes=2KiB seconds='' interval='' levels='' design='' half_period='' block='' places=''
    for name in $companion_options --shell --agent-period --agent-settle --agent-nodes --sweep --interval-template --compare-replay --record-for; do
        # names are those of the lists, not the user's
        eval "$(variable_of "$name")=''"
    done
}

refuse_option() {
    case $1 in
    --arms | --set | --external | --launch-id | --agent-interval)
        die 2 "$1: the experiment decides it; leave it out"
        ;;
    --hosts) die 2 '--hosts: an agent is measured on this machine, or on the nodes of a Slurm job' ;;
    esac
}

check_options() {
    seed=${seed:-$(date +%s)}
    countable "$seed"
    find_ways
    if [ -n "$ways" ]; then check_agent "$@"; else check_treatment "$@"; fi
}

# check_treatment WORDS: launches as a whole with and without
check_treatment() {
    for name in --agent-period --agent-settle --agent-nodes --agent-cpu --agent-name --sweep --interval-template --compare-replay --record-for \
        --levels --design; do
        if was_given "$name"; then die 2 "$name: belongs to an agent that is switched within a launch (--agent-cmd and the like)"; fi
    done
    if [ -z "$treatment" ]; then
        no_slurm='there is no Slurm here'
        ! command -v srun >/dev/null || no_slurm='this is not a Slurm job'
        in_slurm_job || [ -n "$submit" ] ||
            die 2 "which agent? Say --agent-cmd, --agent-pid, --agent-cgroup, --agent-unit, --agent-on and --agent-off, or --scrape;" \
                "slurm-accounting would be the default, and $no_slurm"
        treatment=slurm-accounting
    fi
    interval=${interval:-1} launches=${launches:-10} seconds=${seconds:-20s}
    whole --launches "$launches"
    whole --interval "$interval"
    interval_s=$interval
    treatment_row "$treatment"
    "$treatment_check"
    ranks_column
    set -- --op "$op" --bytes "$bytes" --design single --seconds "$seconds" --external "$treatment" "$@"
    rehearse "$@" --arms on
    go_on "$@"
}

plan_launches() {
    if [ -z "$treatment" ]; then
        plan_agent "$@"
        return
    fi
    while read -r round arm nodes_of_launch; do
        set_number=$(set_of_nodes "$round" "$nodes_of_launch")
        row "$set_number" "$nodes_of_launch" "$ranks_planned" "$@" --arms "$arm" --set "$set_number" --seed "$((seed + row_number))"
    done <<EOT
$(arms_on_nodes off on | shuffled "$seed" "$launches")
EOT
}

main "$@"
