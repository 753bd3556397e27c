# Batch jobs: the script of the experiment with its variables filled in, shown and given to sbatch. Sourced by lib.sh.
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared with the other parts

# submit_campaign WORDS: plans the campaign (unless only the job can), and submits what runs it
submit_campaign() {
    ready_to_submit
    if [ -n "$plan_later" ]; then
        [ -z "$array" ] || die 2 "--array: $plan_later, and so the launches are not known before the job starts; leave it out"
        [ -n "$time_limit" ] || die 2 "--time: $plan_later: give the time that the job may take"
        n_planned=0 n_complete=0 left_ns=0
    else
        # into the campaign only when the job is known to fit
        plan "$@"
        count_launches
    fi
    submit_job "$NOISELAB_LIBEXEC/$experiment.sbatch"
}

# submit_resume: a job for what is left of a campaign
submit_resume() {
    [ "$n_planned" != "$n_complete" ] || die 2 "all $n_planned planned launches are complete: noiselab run $experiment --finish '$campaign'"
    template=$NOISELAB_LIBEXEC/$experiment.sbatch
    if [ -f "$campaign/job.sbatch" ]; then
        template=$campaign/job.sbatch
        # where the earlier job went this one goes, and has to fit
        partition=${partition:-$(sed -n "s/^#SBATCH --partition=\([^']*\)\$/\1/p" "$template" | tail -n 1)}
    fi
    ready_to_submit
    submit_job "$template"
}

# ready_to_submit: checks what is known of the cluster
ready_to_submit() {
    command -v sbatch >/dev/null ||
        die 2 '--submit: there is no Slurm here (sbatch is not in PATH): leave --submit out to measure on this machine'
    [[ $campaign != *"$newline"* ]] || die 2 '--out: a name with a line break cannot stand in a batch script'
    absolute "$campaign"
    campaign=$REPLY
    schedule=$campaign/schedule.tsv
    # the script shown is what counts: these would overrule its lines, and SBATCH_WAIT would wait for the wrong job
    [ -z "$partition" ] || unset SBATCH_PARTITION
    [[ $sbatch_options != *account=* ]] || unset SBATCH_ACCOUNT
    [[ $sbatch_options != *qos=* ]] || unset SBATCH_QOS
    unset SBATCH_ARRAY_INX SBATCH_EXCLUSIVE SBATCH_JOB_NAME SBATCH_MEM_PER_CPU SBATCH_MEM_PER_NODE SBATCH_NO_REQUEUE SBATCH_OPEN_MODE \
        SBATCH_OUTPUT SBATCH_SIGNAL SBATCH_TIMELIMIT SBATCH_WAIT
    partition=${partition:-${SBATCH_PARTITION-}}
    find_partition
    make_scratch
}

# find_partition: refuses a partition that is not there, or has fewer nodes than asked for; sets partition_s, its time limit (empty: none)
find_partition() {
    known=$(sinfo --all --noheader --format='%P %l %D' 2>&1) || {
        first_line "$known"
        die 2 "Slurm does not answer: ${REPLY#[a-z]*: error: }"
    }
    # shellcheck disable=SC2046 # a name, a time and a number
    set -- $(awk -v wanted="$partition" '
        { name = $1; is_default = sub(/\*$/, "", name) }
        wanted == "" ? is_default : name == wanted { found = name; limit = $2; n += $3 }
        END { if (found != "") print found, limit, n }' <<<"$known")
    [ $# = 3 ] || [ -z "$partition" ] ||
        die 2 "--partition: '$partition' is not a partition here" \
            "($(awk '{ sub(/\*$/, "", $1); print $1 }' <<<"$known" | sort -u | paste -sd , -))"
    [ $# = 3 ] || die 2 '--partition: this cluster has no default partition; give one'
    slurm_seconds "$2"
    partition_name=$1 partition_s=$REPLY
    [ -z "$nodes" ] || [ "$nodes" -le "$3" ] || die 2 "--nodes: $nodes nodes asked for, and partition '$1' has $3"
}

# submit_job TEMPLATE
submit_job() {
    n_taken=0
    needed_seconds
    [ -z "$array" ] || longest_seconds yes
    need_s=$REPLY
    # the estimate is one, a minute is the job's own, and a TERM comes before the end
    job_s=$((need_s * 5 / 4 + 60 + reserve_s))
    if [ -n "$time_limit" ]; then
        slurm_time "$job_s"
        wanted=$REPLY
        slurm_seconds "$time_limit"
        job_s=$REPLY
        [ -n "$job_s" ] || die 2 "--time: '$time_limit' is not a time (try 30, 2:00:00, 1-12:00:00)"
        say_time "$need_s"
        [ -n "$plan_later$requeue" ] || [ $((begin_s + need_s + reserve_s)) -le "$job_s" ] ||
            die 2 "--time: $time_limit is too short: the launches take some $REPLY, and the last $reserve_s s are kept; ask for $wanted"
    fi
    fit_partition
    job_options="${requeue:+ --requeue}${no_report:+ --no-report}$answer_options"
    quoted "$launcher"
    [ -z "$launcher" ] || job_options+=" --launcher $REPLY"
    job_lines
    job_script=$(fill_template "$1")
    # the script is submitted as it is: its user may have put secrets of the site's into it, which then nobody else may read
    is_private=''
    redacted "$job_script" || is_private=yes
    printf '%s\n' "$REPLY"
    if [ -n "$array" ]; then
        last_script=$(finish_script)
        printf '\n%s\n' "$last_script"
    fi
    [ -z "$dry_run" ] || exit 0
    kept=job.sbatch
    if [ -z "$resume" ]; then
        make_campaign
        for name in $planned_files; do [ ! -e "$scratch/$name" ] || kept+=" $name"; done
        [ -n "$plan_later" ] || {
            keep_schedule
            kept+=' schedule.tsv'
        }
    fi
    (
        [ -z "$is_private" ] || umask 077
        keep job.sbatch "$job_script"
    ) || exit 2
    echo
    if [ -n "$array" ]; then
        keep finish.sbatch "$last_script"
        kept+=' finish.sbatch'
        send_job no job.sbatch
        send_job "${wait_for_job:-no}" finish.sbatch --dependency="afterany:$job_id"
    else
        send_job "${wait_for_job:-no}" job.sbatch
    fi
    exit "$job_status"
}

# fit_partition: the partition's time limit against what the job needs
fit_partition() {
    local must_hold_s=$need_s
    [ -n "$partition_s" ] && [ "$job_s" -gt "$partition_s" ] || return 0
    [ -z "$requeue" ] || { longest_seconds no && must_hold_s=$REPLY; }
    if [ -n "$time_limit" ] && [ -z "$requeue" ] || [ $((begin_s + must_hold_s + reserve_s)) -gt "$partition_s" ]; then
        slurm_time "$job_s"
        wanted=$REPLY
        slurm_time "$partition_s"
        die 2 "the job needs some $wanted, and partition '$partition_name' ends jobs after $REPLY:" \
            "take another one, let it go back into the queue (--requeue), or make each launch, or set of launches, a task (--array)"
    fi
    job_s=$partition_s
}

# job_lines: sets lines_of_job, the #SBATCH lines that this submission decides, and job_line for the key of each; --sbatch may come again with a key
job_lines() {
    local line key
    declare -gA job_line=()
    lines_of_job=()
    # a % in a name is doubled: sbatch fills in patterns
    key=slurm-%j.out
    [ -z "$array" ] || key=slurm-%A_%a.out
    quoted "${campaign//%/%%}/$key"
    set_job_line output "--output=$REPLY"
    slurm_time "$job_s"
    set_job_line time "--time=$REPLY"
    [ -z "$nodes" ] || set_job_line nodes "--nodes=$nodes"
    quoted "$partition"
    [ -z "$partition" ] || set_job_line partition "--partition=$REPLY"
    # one after the other: launches side by side would disturb each other through the network and the file system
    [ -z "$array" ] || set_job_line array "--array=$(remaining_tasks)%1"
    while IFS= read -r line; do
        case $line in -* | '') ;; *) line=--$line ;; esac
        [[ ! $line =~ ^-*([A-Za-z][a-z-]*) ]] || set_job_line "${BASH_REMATCH[1]}" "$line"
    done <<<"$sbatch_options"
}

# set_job_line KEY WORDS
set_job_line() { job_line[$1]=yes lines_of_job+=("#SBATCH $2"); }

# remaining_tasks: those that have launches which are not complete, as sbatch --array takes them (1-3,7)
remaining_tasks() {
    local i
    for i in "${!rows[@]}"; do
        [ -n "${is_whole[${rows[i]%%"$tab"*}]-}" ] || echo "${task_of[i]}"
    done | sort -nu | awk '
        function range() { return first (last > first ? "-" last : "") }
        NR == 1 || $1 != last + 1 { list = list (NR > 1 ? range() "," : ""); first = $1 }
        { last = $1 }
        END { print list range() }'
}

# fill_template TEMPLATE: prints it, in which its variables get the values of this submission, its #SBATCH lines those of job_line
fill_template() {
    local line name key template_variables
    template_variables=" $(sed -n 's/^\([a-z_]*\)=.*/\1/p' "$1" | tr '\n' ' ')"
    while IFS= read -r line; do
        case $line in
        '#SBATCH --'*)
            key=${line#'#SBATCH --'}
            key=${key%%[= ]*}
            # lines of an earlier submission that do not hold for this one
            case $key in array | dependency) continue ;; esac
            [ -z "${job_line[$key]-}" ] || continue
            ;;
        '# --- parameters ---'*)
            printf '%s\n' "${lines_of_job[@]}"
            ;;
        [a-z]*=*)
            name=${line%%=*}
            # a command with a = in it is no parameter
            case $name in *[!a-z_]*) ;; *) ! value_of "$name" || line="$name=$REPLY  # ${line#*'  # '}" ;; esac
            ;;
        esac
        printf '%s\n' "$line"
    done <"$1"
}

# value_of NAME: sets REPLY to that of a variable of the template, as the shell reads it; fails where the template's own holds
value_of() {
    case $1 in
    noiselab) quoted "$NOISELAB_BIN/noiselab" ;;
    campaign) quoted "$campaign" ;;
    job_options) REPLY="(${job_options# })" ;;
    *)
        # a campaign that goes on has the values of its schedule
        [ -z "$resume" ] || return 1
        # a template may set what it likes; only variables of our own tables are looked at
        case "options ${variable_of[*]} " in
        "$1 "*) options_without_variable ;;
        *" $1 "*) quoted "${!1-}" ;;
        *) return 1 ;;
        esac
        ;;
    esac
}

# options_without_variable: sets REPLY to the options given that the template has no variable for, and the detector's, as words
options_without_variable() {
    local name variable kind value words=$words_for_detector
    # those that are in #SBATCH lines or mean how a job runs
    local elsewhere='out resume finish only launcher partition nodes time_limit no_report requeue submit array wait_for_job sbatch_options json lines junit'
    for name in "${option_names[@]}"; do
        kind=${kind_of[$name]} variable=${variable_of[$name]}
        case $kind in value | flag | maybe | list) ;; *) continue ;; esac
        case "$template_variables$elsewhere " in *" $variable "*) continue ;; esac
        was_given "$name" || continue
        while IFS= read -r value; do
            quoted "$value"
            case $kind,$value in
            flag,* | maybe,yes) words+=" $name" ;;
            maybe,*) words+=" $name=$REPLY" ;;
            *) words+=" $name $REPLY" ;;
            esac
        done <<<"${!variable}"
    done
    REPLY="(${words# })"
}

# finish_script: the job after the array, whose status is the answer
finish_script() {
    slurm_time "$((partition_s > 0 && partition_s < 1800 ? partition_s : 1800))"
    cat <<EOT
#!/bin/bash
# The answer of '$campaign', after all of its launches.
#SBATCH --job-name=noiselab-$experiment-answer
#SBATCH --nodes=1
#SBATCH --time=$REPLY
#SBATCH --open-mode=append
EOT
    # where it runs and who pays, as for the launches; clusters may insist on them
    grep -E '^#SBATCH (--(output|partition|account|qos|constraint|reservation|clusters)[= ]|-[pAqCM])' <<<"$job_script" | sed 's/%A_%a/%j/'
    quoted "$NOISELAB_BIN/noiselab" run "$experiment" --finish "$campaign"
    echo "exec $REPLY${no_report:+ --no-report}$answer_options"
}

# stop_waiting: what waits for a job does not outlive this; the job does
stop_waiting() {
    [ -z "$sender" ] || kill "$sender" 2>/dev/null
    # of the last job that is known
    job_id=$(cut -d ';' -f 1 "$scratch/id" 2>/dev/null)
    die 2 "interrupted; job ${job_id:-${sent:-(see squeue)}} goes on"
}

# send_job WAIT SCRIPT OPTIONS: to sbatch; sets job_id, and job_status: 0, or with WAIT yes that of the job
send_job() {
    waits=$1 script=$campaign/$2
    shift 2
    [ "$waits" = no ] || set -- --wait "$@"
    rm -f "$scratch/id"
    # the job before this one, if there is one
    sent=${job_id-} job_id=''
    sender=''
    trap stop_waiting INT TERM HUP
    sbatch --parsable "$@" "$script" >"$scratch/id" 2>"$scratch/reason" &
    sender=$!
    while [ ! -s "$scratch/id" ] && kill -0 "$sender" 2>/dev/null; do sleep 0.1; done
    if [ -s "$scratch/id" ]; then
        job_id=$(cut -d ';' -f 1 "$scratch/id")
        echo "job $job_id: $script"
    fi
    wait "$sender"
    job_status=$?
    [ -s "$scratch/id" ] || {
        reason=$(sed 's/^sbatch: //; s/^error: //' "$scratch/reason" | tr '\n' ' ' | sed 's/ *$//')
        [ -z "$sent" ] || die 2 "job $sent measures, but the job that answers was refused by sbatch: $reason;" \
            "when all launches have ended: noiselab run $experiment --finish '$campaign'"
        # nothing of a job that was refused stays in the way of the next attempt; of one that goes on everything was there before
        # shellcheck disable=SC2086 # names of our own
        [ -n "$resume" ] || (cd "$campaign" && rm -rf $kept schedule.private.tsv && rmdir "$campaign") 2>/dev/null
        die 2 "sbatch: $reason"
    }
}
