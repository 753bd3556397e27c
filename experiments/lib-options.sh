# The options of noiselab run: one table for all experiments, one for each. Sourced by lib.sh.
# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # variables are shared with the other parts

# Rows: option, kind, variable. Kinds: value, list (may come again), flag (yes), maybe (a flag that may have a value, by =), seen (of interest, and
# goes on to the detector), asks (prints something and ends). What is in no row goes to the detector as it is.
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
--sbatch             list   sbatch_options
--stop-when          seen   stop_when
--dry-run            asks   dry_run
--version            asks   shows
--list               asks   shows
'
# what may stand beside --resume: how it is run, not what is measured
resume_options=' --resume --finish --only --no-report --launcher --hosts --requeue --dry-run '
resume_options="$resume_options--submit --array --wait --partition --nodes --time --sbatch "

common_usage() {
    cat <<'EOT'
Campaigns and launches:
  --out DIR         campaign directory (default noiselab-EXPERIMENT-DATE); the schedule of all launches is written first
  --resume DIR      run the launches of DIR that are not complete, as planned
  --finish DIR      only analyse DIR and write its report
  --margin PERCENT  sensitivity, agent: is every slowdown below this? status 0 yes, 1 no, 3 the data cannot tell
  --no-report       print the answer only
  --dry-run         check the options, print the plan (with --json as JSON), and end
  --launcher NAME   srun, mpirun or auto (default: srun within a Slurm job, else mpirun)

Several nodes without Slurm:
  --hosts LIST      nodes that mpirun can reach, by the names that uname -n prints there, such as n1,n2,n3; campaign and
                    programs must have the same path on all of them

In a Slurm job (the nodes and CPUs are those of the job), or with --hosts:
  --node-sets LIST|K    each launch on one of these sets of nodes, 'n1,n2;n3,n4', or on K nodes of the job at a time, in random order;
                        accepted:DIR: on all but those that noiselab run acceptance, in DIR, found worse
  --requeue             at the time limit, requeue the job and continue

Batch jobs:
  --submit          write the batch script into the campaign, show it and submit it (with --dry-run: only show it)
  --array           one array task per launch (or set of launches), one after the other, and a job that analyses
  --wait            wait for the job; the exit status is the job's
  --partition P, --nodes N, --time T, --sbatch 'OPTION' (such as '--qos=Q', '--dependency=afterany:JOBID'; may come again)
                    passed to sbatch; without --time the time is computed

  -h, --help        this text

The environment variable NOISELAB_MPIRUN names another mpirun.
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

# clear_options: no option was given yet
clear_options() {
    while read -r row_name row_kind row_variable; do [ -z "$row_name" ] || eval "$row_variable=''"; done <<EOT
$own_options
$common_options
EOT
}

# value_given NAME: its value
value_given() {
    option_row "$1"
    eval "printf '%s' \"\$$variable\""
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
    given=' ' shows='' dry_run='' foreign='' app_words=''
    left=$#
    while [ "$left" -gt 0 ]; do
        word=$1 name=$1 value=''
        shift
        left=$((left - 1))
        case $word in
        --)
            take_program "$left" "$@"
            shift "$left"
            break
            ;;
        -h | --help)
            usage
            common_usage
            exit 0
            ;;
        --list-tables)
            list_tables
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
        maybe) set_option "$name" "${value:-yes}" ;;
        seen | asks)
            set_option "$name" yes
            set -- "$@" "$word"
            ;;
        *)
            given="$given$name "
            case $name in --?*) foreign="$foreign$name$newline" ;; esac
            set -- "$@" "$word"
            ;;
        esac
    done
    refuse_unknown
    "$next" "$@"
}

# list_tables: our options as the programs in C list theirs, for completion and help; and those that are handed on. Help is in our --help.
list_tables() {
    # what both have is described there
    {
        tables_of "$program"
        [ "$program" != noiselab-detect ] || tables_of noiselab-gen noiselab-agent
        printf '%s\n' "$own_options" "$common_options" | awk -v OFS='\t' -v help="option of noiselab run $experiment" '
            NF { print "option", $1, ($2 == "value" || $2 == "list" ? "VALUE" : "-"), help }'
    } | awk -F '\t' '!seen[$2]++'
}

# tables_of PROGRAM...: their options
tables_of() { for each; do "$NOISELAB_BIN/$each" --list-tables | awk -F '\t' '$1 == "option"'; done; }

# find_handed_on: sets handed_on, lines "OPTION gen|agent VALUE" of what the generator or the agent takes and the detector does not
find_handed_on() {
    [ -z "${handed_on-}" ] || return 0
    handed_on=$({
        tables_of noiselab-detect | sed 's/^/detect /'
        tables_of noiselab-gen | sed 's/^/gen /'
        tables_of noiselab-agent | sed 's/^/agent /'
    } | awk -F '\t' '{ of = $1; sub(/ .*/, "", of) } !seen[$2]++ && of != "detect" { print $2, of, $3 }')
    [ -n "$handed_on" ] || die 70 'noiselab-gen --list-tables names no option'
}

# handing_on COMMAND WORDS: calls COMMAND with WORDS, in which what is the generator's or the agent's stands as the detector has it, in --gen and --agent
handing_on() {
    handed_to=$1
    shift
    find_handed_on
    left=$#
    while [ "$left" -gt 0 ]; do
        word=$1
        shift
        left=$((left - 1))
        row=$(printf '%s\n' "$handed_on" | grep "^${word%%=*} ") || row=''
        case $row,$word in
        ,* | *' -',* | *,*=*) ;;
        *)
            [ "$left" -gt 0 ] || die 2 "$word needs a value (see noiselab run $experiment --help)"
            word=$word=$1
            shift
            left=$((left - 1))
            ;;
        esac
        case $row in
        '') set -- "$@" "$word" ;;
        *' gen '*) set -- "$@" --gen "$(quoted "$word")" ;;
        *) set -- "$@" --agent "$(quoted "$word")" ;;
        esac
    done
    "$handed_to" "$@"
}

# refuse_unknown: options that are neither ours nor the program's; an unambiguous beginning of one of the program's will do, as everywhere
refuse_unknown() {
    [ -n "$foreign" ] || return 0
    known=$(tables_of "$program" | cut -f 2)
    [ -n "$known" ] || die 70 "$program --list-tables names no option"
    [ "$program" != noiselab-detect ] || { find_handed_on && known=$known$newline$(printf '%s\n' "$handed_on" | cut -d ' ' -f 1); }
    ours=$(printf '%s\n' "$own_options" "$common_options" | awk 'NF { print $1 }')
    while IFS= read -r name; do
        case $newline$known in *"$newline$name"*) continue ;; esac
        [ -z "$name" ] || die 2 "'$name': unknown option (see noiselab run $experiment --help)$(did_you_mean "$name" "$ours$newline$known")"
    done <<EOT
$foreign
EOT
}

# was_given NAME
was_given() {
    case $given in
    *" $1 "*) return 0 ;;
    *) return 1 ;;
    esac
}
