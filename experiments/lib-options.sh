# The options of noiselab run: one table for all experiments, one for each. Sourced by lib.sh.
# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # variables are shared with the other parts

# Rows: option, kind, variable. Kinds: value, list (may come again), flag (yes), seen (of interest, and goes on to the detector), asks
# (prints something and ends). What is in no row goes to the detector as it is.
common_options='
--out                value  out
--launches           value  launches
--ranks              value  ranks
--seed               value  seed
--margin             value  margin
--no-report          flag   no_report
--launcher           value  launcher
--hosts              value  hosts
--node-sets          value  node_sets
--nodes-per-launch   value  nodes_per_launch
--resume             value  resume
--finish             value  finish
--only               value  only
--requeue            flag   requeue
--submit             flag   submit
--array              flag   array
--wait               flag   wait_for_job
--partition          value  partition
--nodes              value  nodes
--time               value  time_limit
--account            value  account
--qos                value  qos
--after              value  after
--sbatch             list   sbatch_options
--stop-when          seen   stop_when
--dry-run            asks   dry_run
--version            asks   shows
--list-operations    asks   shows
--list-designs       asks   shows
--list-channels      asks   shows
--list-starts        asks   shows
--list-clocks        asks   shows
--list-syncs         asks   shows
--list-arrivals      asks   shows
--list-datatypes     asks   shows
--list-reductions    asks   shows
'
# what may stand beside --resume: how it is run, not what is measured
resume_options=' --resume --finish --only --no-report --launcher --hosts --requeue --dry-run '
resume_options="$resume_options--submit --array --wait --partition --nodes --time --account --qos --after --sbatch "

common_usage() {
    cat <<'EOT'
Campaigns and launches:
  --out DIR         campaign directory (default noiselab-EXPERIMENT-DATE); it gets a schedule of all launches first
  --resume DIR      go on with the launches of DIR that are not complete, as they were planned
  --finish DIR      only analyse and report DIR as its schedule says
  --margin PERCENT  sensitivity, agent: ask whether every slowdown is below it: status 0 yes, 1 no, 3 the data cannot tell
  --no-report       measure and print the answer only
  --launcher NAME   srun, mpirun or auto (default: srun within a Slurm job, else mpirun)

Several nodes without Slurm:
  --hosts LIST      nodes that mpirun can reach, by the names that they have for themselves, such as n1,n2,n3; the
                    campaign and the programs have the same path on all of them

In a Slurm job (the nodes and CPUs are those of the job), or with --hosts:
  --node-sets LIST      each launch on one of these sets of nodes, 'n1,n2;n3,n4', in random order
  --nodes-per-launch K  the same with the nodes of the job, K at a time
  --requeue             when the time limit comes, go back into the queue and go on

Batch jobs:
  --submit          write the batch script into the campaign, show it and submit it (with --dry-run: only show it)
  --array           an array task for each launch, or set of launches, one after the other, and a job that analyses
  --wait            wait for the job; its status is the status
  --partition P, --nodes N, --time T, --account A, --qos Q, --after JOBID, --sbatch 'OPTION'
                    for sbatch; the time is computed when it is not given

  -h, --help        this text
EOT
}

# option_row NAME: kind and variable of an option; kind is empty for what is not ours
option_row() {
    kind='' variable=''
    while read -r row_name row_kind row_variable; do
        [ "$row_name" = "$1" ] || continue
        kind=$row_kind variable=$row_variable
        break
    done <<EOT
$own_options
$common_options
EOT
}

# set_option NAME VALUE: by its row
set_option() {
    # the name of the variable is from the table; only its value is the user's, and that is not evaluated
    case $kind in
    list) eval "$variable=\${$variable:+\$$variable\$newline}\$2" ;;
    *) eval "$variable=\$2" ;;
    esac
    given="$given$1 "
}

# with_options COMMAND WORDS: takes our own options out of WORDS, sets the variable of each, and calls COMMAND with those that are left, in order
with_options() {
    next=$1
    shift
    given=' ' shows='' dry_run=''
    left=$#
    while [ "$left" -gt 0 ]; do
        word=$1 name=$1 value=''
        shift
        left=$((left - 1))
        case $word in
        -h | --help)
            usage
            common_usage
            exit 0
            ;;
        --*=*) name=${word%%=*} value=${word#*=} ;;
        esac
        refuse_option "$name"
        option_row "$name"
        case $kind in
        value | list)
            if [ "$name" = "$word" ]; then
                [ "$left" -ge 1 ] || die 2 "$name needs a value (see noiselab run $experiment --help)"
                value=$1
                shift
                left=$((left - 1))
            fi
            set_option "$name" "$value"
            ;;
        flag)
            [ "$name" = "$word" ] || die 2 "$name takes no value"
            set_option "$name" yes
            ;;
        seen | asks)
            set_option "$name" yes
            set -- "$@" "$word"
            ;;
        *)
            given="$given$name "
            set -- "$@" "$word"
            ;;
        esac
    done
    "$next" "$@"
}

# was_given NAME
was_given() {
    case $given in
    *" $1 "*) return 0 ;;
    *) return 1 ;;
    esac
}
