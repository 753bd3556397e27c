# The options of noiselab run: one table for all experiments, one for each. Sourced by lib.sh.
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared with the other parts

# Rows: a kind, and options of it: NAME, or NAME=VARIABLE where the variable has another name. Kinds: value, list (may come again), flag (yes), maybe (a
# flag that may have a value, by =), seen (of interest, and goes on to the detector), asks (prints something and ends). All others go to the detector.
common_options='
value out launches ranks seed margin
flag no-report
value launcher hosts node-sets resume finish only
flag requeue submit array wait=wait_for_job
value partition nodes time=time_limit
list sbatch=sbatch_options
seen stop-when
asks dry-run version=shows list=shows
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
  --margin PERCENT  sensitivity, agent: is every slowdown below this? status 0 yes, 1 no, 3 the data cannot tell;
                    agent: also of many nodes, 1%:nodes=1000,every=1ms (every: of a program by itself)
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

# clear_options: reads the tables, that of the experiment first, into kind_of, variable_of and option_names; no option was given yet
clear_options() {
    local kind words word name variable
    declare -gA kind_of=() variable_of=()
    option_names=()
    while read -r kind words; do
        for word in $words; do
            name=--${word%=*} variable=${word#*=}
            variable=${variable//-/_}
            printf -v "$variable" ''
            [ -z "${kind_of[$name]-}" ] || continue
            kind_of[$name]=$kind variable_of[$name]=$variable option_names+=("$name")
        done
    done <<<"$own_options$common_options"
}

# value_given NAME: sets REPLY to its value
value_given() { REPLY=${!variable_of[$1]}; }

# set_option NAME VALUE: by its row
set_option() {
    local -n option=${variable_of[$1]}
    if [ "${kind_of[$1]}" = list ]; then option=${option:+$option$newline}$2; else option=$2; fi
    given+="$1 "
}

# with_options COMMAND WORDS: takes our own options out of WORDS, sets the variable of each, and calls COMMAND with those that are left, in order
with_options() {
    local command_of_words=$1 word
    local -a others=()
    shift
    given=' ' shows='' dry_run='' foreign='' app_words=''
    while [ $# -gt 0 ]; do
        word=$1 name=$1 value=''
        shift
        case $word in
        --) quoted "$@" && app_words=$REPLY && break ;;
        -h | --help) usage && common_usage && exit ;;
        --list-tables) list_tables && exit ;;
        --*=*) name=${word%%=*} value=${word#*=} ;;
        esac
        refuse_option "$name"
        case $name in --?*) kind=${kind_of[$name]-} ;; *) kind='' ;; esac
        case $kind in
        value | list)
            if [ "$name" = "$word" ]; then
                [ $# -ge 1 ] || die 2 "$name needs a value (see noiselab run $experiment --help)"
                value=$1
                shift
            fi
            set_option "$name" "$value"
            ;;
        flag | maybe)
            [ "$name" = "$word" ] || [ "$kind" = maybe ] || die 2 "$name takes no value"
            set_option "$name" "${value:-yes}"
            ;;
        *)
            if [ -n "$kind" ]; then set_option "$name" yes; else given+="$name "; fi
            case $kind$name in --?*) foreign+=$name$newline ;; esac
            others+=("$word")
            ;;
        esac
    done
    refuse_unknown
    "$command_of_words" "${others[@]}"
}

# list_tables: our options as the programs in C list theirs, for completion and help; and those that are handed on. Help is in our --help.
list_tables() {
    # what both have is described there
    {
        tables_of "$program"
        [ "$program" != noiselab-detect ] || tables_of noiselab-gen noiselab-agent
        for name in "${option_names[@]}"; do
            case ${kind_of[$name]} in value | list) value=VALUE ;; *) value=- ;; esac
            printf 'option\t%s\t%s\toption of noiselab run %s\n' "$name" "$value" "$experiment"
        done
    } | awk -F '\t' '!seen[$2]++'
}

# tables_of PROGRAM...: their options
tables_of() { for each; do "$NOISELAB_BIN/$each" --list-tables | awk -F '\t' '$1 == "option"'; done; }

# find_options TAKER...: sets taker_of, for each option of these programs, to the first one that takes it, and takes_value. What there is was listed when
# noiselab was made.
find_options() {
    local words=${NOISELAB_BIN%/*}/share/noiselab/words.tsv taker name value
    [ "${takers-}" != "$*" ] || return 0
    takers=$*
    declare -gA taker_of=() takes_value=()
    while read -r taker name value; do
        taker_of[$name]=$taker takes_value[$name]=${value#-}
    done < <(awk -F '\t' -v takers="$takers" '
        $2 == "option" { sub(/^noiselab-/, "", $1); rows[$1] = rows[$1] $1 " " $3 " " $4 "\n" }
        END {
            n = split(takers, taker, " ")
            for (i = 1; i <= n; i++) {
                m = split(rows[taker[i]], row, "\n")
                for (j = 1; j < m; j++) if (split(row[j], word, " ") && !seen[word[2]]++) print row[j]
            }
        }' "$words")
    [ ${#taker_of[@]} -gt 0 ] || die 70 "'$words' names no option of noiselab-$1: run make, or make install, again"
}

# handing_on COMMAND WORDS: calls COMMAND with WORDS, in which what is the generator's or the agent's stands as the detector has it, in --gen and --agent
handing_on() {
    local called=$1 word taker
    local -a words=()
    shift
    find_options detect gen agent
    while [ $# -gt 0 ]; do
        word=$1 taker=''
        shift
        case $word in --?*) taker=${taker_of[${word%%=*}]-} ;; esac
        case $taker in
        gen | agent)
            if [ "${word#*=}" = "$word" ] && [ -n "${takes_value[$word]}" ]; then
                [ $# -gt 0 ] || die 2 "$word needs a value (see noiselab run $experiment --help)"
                word=$word=$1
                shift
            fi
            quoted "$word"
            words+=("--$taker" "$REPLY")
            ;;
        *) words+=("$word") ;;
        esac
    done
    "$called" "${words[@]}"
}

# refuse_unknown: options that are neither ours nor the program's; an unambiguous beginning of one of the program's will do, as everywhere
refuse_unknown() {
    [ -n "$foreign" ] || return 0
    local name known
    if [ "$program" = noiselab-detect ]; then find_options detect gen agent; else find_options "${program#noiselab-}"; fi
    printf -v known '%s\n' "${!taker_of[@]}"
    while IFS= read -r name; do
        case $newline$known in *"$newline$name"*) continue ;; esac
        printf -v known '%s\n' "${!kind_of[@]}" "${!taker_of[@]}"
        did_you_mean "$name" "$known"
        die 2 "'$name': unknown option (see noiselab run $experiment --help)$REPLY"
    done <<<"${foreign%"$newline"}"
}

# was_given NAME
was_given() { [[ $given == *" $1 "* ]]; }
