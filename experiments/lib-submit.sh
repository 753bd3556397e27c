# Batch jobs: the script of the experiment with its variables filled in, shown and given to sbatch. Sourced by lib.sh.
# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # variables are shared with the other parts

# submit_campaign WORDS: plans the campaign (unless only the job can), and submits what runs it
submit_campaign() {
    ready_to_submit
    if [ -n "$plan_later" ]; then
        [ -z "$array" ] || die 2 "--array: $plan_later, and so the launches are not known before the job starts; leave it out"
        [ -n "$time_limit" ] || die 2 "--time: $plan_later: give the time that the job may take"
        n_planned=0 n_complete=0 left_s=0
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
    case $campaign in
    *"$newline"*) die 2 '--out: a name with a line break cannot stand in a batch script' ;;
    esac
    case $campaign in
    /*) ;;
    *) campaign=$PWD/$campaign ;;
    esac
    schedule=$campaign/schedule.tsv
    # the script shown is what counts: these would overrule its lines, and SBATCH_WAIT would wait for the wrong job
    [ -z "$partition" ] || unset SBATCH_PARTITION
    case $sbatch_options in *account=*) unset SBATCH_ACCOUNT ;; esac
    case $sbatch_options in *qos=*) unset SBATCH_QOS ;; esac
    unset SBATCH_ARRAY_INX SBATCH_EXCLUSIVE SBATCH_JOB_NAME SBATCH_MEM_PER_CPU SBATCH_MEM_PER_NODE SBATCH_NO_REQUEUE SBATCH_OPEN_MODE \
        SBATCH_OUTPUT SBATCH_SIGNAL SBATCH_TIMELIMIT SBATCH_WAIT
    partition=${partition:-${SBATCH_PARTITION-}}
    find_partition
    make_scratch
}

# find_partition: refuses a partition that is not there, or has fewer nodes than asked for; sets partition_s, its time limit (empty: none)
find_partition() {
    known=$(sinfo --all --noheader --format='%P %l %D' 2>&1) ||
        die 2 "Slurm does not answer: $(printf '%s\n' "$known" | sed 's/^[a-z_]*: error: //' | first_line)"
    # shellcheck disable=SC2046 # a name, a time and a number
    set -- $(printf '%s\n' "$known" | awk -v wanted="$partition" '
        { name = $1; is_default = sub(/\*$/, "", name) }
        wanted == "" ? is_default : name == wanted { found = name; limit = $2; n += $3 }
        END { if (found != "") print found, limit, n }')
    [ $# = 3 ] || [ -z "$partition" ] ||
        die 2 "--partition: '$partition' is not a partition here" \
            "($(printf '%s\n' "$known" | awk '{ sub(/\*$/, "", $1); print $1 }' | sort -u | paste -sd , -))"
    [ $# = 3 ] || die 2 '--partition: this cluster has no default partition; give one'
    partition_name=$1 partition_s=$(slurm_seconds "$2")
    [ -z "$nodes" ] || [ "$nodes" -le "$3" ] || die 2 "--nodes: $nodes nodes asked for, and partition '$1' has $3"
}

# submit_job TEMPLATE
submit_job() {
    need_s=$(n_taken=0 && needed_seconds)
    [ -z "$array" ] || need_s=$(longest_seconds yes)
    # the estimate is one, a minute is the job's own, and a TERM comes before the end
    job_s=$((need_s * 5 / 4 + 60 + reserve_s))
    if [ -n "$time_limit" ]; then
        job_s=$(slurm_seconds "$time_limit")
        [ -n "$job_s" ] || die 2 "--time: '$time_limit' is not a time (try 30, 2:00:00, 1-12:00:00)"
        [ -n "$plan_later$requeue" ] || [ $((begin_s + need_s + reserve_s)) -le "$job_s" ] ||
            die 2 "--time: $time_limit is too short: the launches take some $(say_time "$need_s"), and the last $reserve_s s are kept;" \
                "ask for $(slurm_time $((need_s * 5 / 4 + 60 + reserve_s)))"
    fi
    fit_partition
    job_options=''
    for name in requeue:--requeue no_report:--no-report; do
        eval "[ -z \"\$${name%%:*}\" ]" || job_options="$job_options ${name#*:}"
    done
    job_options="$job_options$answer_options"
    [ -z "$launcher" ] || job_options="$job_options --launcher $(quoted "$launcher")"
    job_lines >"$scratch/lines"
    fill_template "$1" >"$scratch/job.sbatch"
    # the script is submitted as it is: its user may have put secrets of the site's into it, which then nobody else may read
    is_private=''
    redacted "$scratch/job.sbatch" >"$scratch/shown.sbatch" || is_private=yes
    cat "$scratch/shown.sbatch"
    if [ -n "$array" ]; then
        finish_script >"$scratch/finish.sbatch"
        echo
        cat "$scratch/finish.sbatch"
    fi
    [ -z "$dry_run" ] || exit 0
    kept=''
    if [ -z "$resume" ]; then
        make_campaign
        for name in $planned_files; do [ ! -e "$scratch/$name" ] || kept="$kept $name"; done
    fi
    for name in schedule.tsv job.sbatch finish.sbatch; do
        [ -e "$scratch/$name" ] || continue
        case $name,$is_private in
        schedule.tsv,*) keep_schedule ;;
        job.sbatch,yes) (umask 077 && keep "$name") || exit 2 ;;
        *) keep "$name" ;;
        esac
        kept="$kept $name"
    done
    echo
    if [ -n "$array" ]; then
        send_job no job.sbatch
        send_job "${wait_for_job:-no}" finish.sbatch --dependency="afterany:$job_id"
    else
        send_job "${wait_for_job:-no}" job.sbatch
    fi
    exit "$job_status"
}

# fit_partition: the partition's time limit against what the job needs
fit_partition() {
    [ -n "$partition_s" ] && [ "$job_s" -gt "$partition_s" ] || return 0
    longest_s=$(longest_seconds no)
    if [ -z "$time_limit" ] && [ $((begin_s + need_s + reserve_s)) -le "$partition_s" ]; then
        job_s=$partition_s
    elif [ -n "$requeue" ] && [ $((begin_s + longest_s + reserve_s)) -le "$partition_s" ]; then
        job_s=$partition_s
    else
        die 2 "the job needs some $(slurm_time "$job_s"), and partition '$partition_name' ends jobs after $(slurm_time "$partition_s"):" \
            "take another one, let it go back into the queue (--requeue), or make each launch, or set of launches, a task (--array)"
    fi
}

# job_lines: the #SBATCH lines that this submission decides, as "key line"
job_lines() {
    # a % in a name is doubled: sbatch fills in patterns
    if [ -n "$array" ]; then name=slurm-%A_%a.out; else name=slurm-%j.out; fi
    printf 'output #SBATCH --output=%s\n' "$(quoted "$(printf '%s' "$campaign" | sed 's/%/%%/g')/$name")"
    echo "time #SBATCH --time=$(slurm_time "$job_s")"
    [ -z "$nodes" ] || echo "nodes #SBATCH --nodes=$nodes"
    [ -z "$partition" ] || echo "partition #SBATCH --partition=$(quoted "$partition")"
    # one after the other: launches side by side would disturb each other through the network and the file system
    [ -z "$array" ] || echo "array #SBATCH --array=$(remaining_tasks)%1"
    [ -z "$sbatch_options" ] || printf '%s\n' "$sbatch_options" | sed 's/^[^-]/--&/; s/^-*\([A-Za-z][a-z-]*\).*/\1 #SBATCH &/'
}

# remaining_tasks: those that have launches which are not complete, as sbatch --array takes them (1-3,7)
remaining_tasks() {
    launches_now=$(complete_and_planned) || exit $?
    printf '%s\n' "$launches_now" | awk '
        $0 == "=" { planned = 1; next }
        !planned { complete[$1] = 1; next }
        !($1 in complete) { left[$3] = 1; if ($3 > n) n = $3 }
        END {
            for (task = 1; task <= n; task++) {
                if (!(task in left)) continue
                for (last = task; (last + 1) in left;) last++
                out = out (out == "" ? "" : ",") (task == last ? task : task "-" last)
                task = last
            }
            print out
        }'
}

# fill_template TEMPLATE: its variables get the values of this submission, its #SBATCH lines those of $scratch/lines
fill_template() {
    template_variables=$(sed -n 's/^\([a-z_]*\)=.*/\1/p' "$1" | tr '\n' ' ')
    options=$(options_without_variable)
    while IFS= read -r line; do
        case $line in
        '#SBATCH --'*)
            key=${line#'#SBATCH --'}
            key=${key%%[= ]*}
            # lines of an earlier submission that do not hold for this one
            case $key in array | dependency) continue ;; esac
            grep -q "^$key " "$scratch/lines" && continue
            printf '%s\n' "$line"
            ;;
        '# --- parameters ---'*)
            cut -d ' ' -f 2- "$scratch/lines"
            printf '%s\n' "$line"
            ;;
        [a-z]*=*)
            name=${line%%=*}
            # a command with a = in it is no parameter
            case $name in *[!a-z_]*) printf '%s\n' "$line" && continue ;; esac
            if value=$(value_of "$name"); then
                printf '%s=%s  # %s\n' "$name" "$value" "${line#*'  # '}"
            else
                printf '%s\n' "$line"
            fi
            ;;
        *) printf '%s\n' "$line" ;;
        esac
    done <"$1"
}

# value_of NAME: of a variable of the template, as the shell reads it; fails where the template's own holds
value_of() {
    case $1 in
    noiselab) quoted "$NOISELAB_BIN/noiselab" ;;
    campaign) quoted "$campaign" ;;
    job_options) printf '(%s)' "${job_options# }" ;;
    *)
        # a campaign that goes on has the values of its schedule
        [ -z "$resume" ] || return 1
        case $1 in
        options) printf '(%s)' "$options" ;;
        *)
            # a template may set what it likes; only variables of our own tables are looked at
            printf '%s\n' "$own_options" "$common_options" | awk -v name="$1" '$3 == name { found = 1 } END { exit !found }' || return 1
            eval "value=\${$1-}"
            quoted "$value"
            ;;
        esac
        ;;
    esac
}

# options_without_variable: the options given that the template has no variable for, and the detector's, as words
options_without_variable() {
    given_words=$words_for_detector
    while read -r row_name row_kind row_variable; do
        case $row_kind in value | flag | maybe | list) ;; *) continue ;; esac
        # those of the template, and those that are in #SBATCH lines or mean how a job runs
        elsewhere='out resume finish only launcher partition nodes time_limit no_report requeue submit array wait_for_job'
        elsewhere="$elsewhere sbatch_options json lines junit"
        case " $template_variables $elsewhere " in
        *" $row_variable "*) continue ;;
        esac
        was_given "$row_name" || continue
        eval "value=\$$row_variable"
        case $row_kind in
        flag) given_words="$given_words $row_name" ;;
        maybe) given_words="$given_words $row_name$([ "$value" = yes ] || printf '=%s' "$(quoted "$value")")" ;;
        value) given_words="$given_words $row_name $(quoted "$value")" ;;
        list)
            given_words="$given_words$(printf '%s\n' "$value" |
                while IFS= read -r each; do printf ' %s %s' "$row_name" "$(quoted "$each")"; done)"
            ;;
        esac
    done <<EOT
$own_options
$common_options
EOT
    printf '%s' "${given_words# }"
}

# finish_script: the job after the array, whose status is the answer
finish_script() {
    cat <<EOT
#!/bin/bash
# The answer of '$campaign', after all of its launches.
#SBATCH --job-name=noiselab-$experiment-answer
#SBATCH --nodes=1
#SBATCH --time=$([ -n "$partition_s" ] && [ "$partition_s" -lt 1800 ] && slurm_time "$partition_s" || echo 0:30:00)
#SBATCH --open-mode=append
EOT
    # where it runs and who pays, as for the launches; clusters may insist on them
    grep -E '^#SBATCH (--(output|partition|account|qos|constraint|reservation|clusters)[= ]|-[pAqCM])' "$scratch/job.sbatch" | sed 's/%A_%a/%j/'
    printf 'exec %s run %s --finish %s%s%s\n' "$(quoted "$NOISELAB_BIN/noiselab")" "$experiment" "$(quoted "$campaign")" \
        "$([ -z "$no_report" ] || echo ' --no-report')" "$answer_options"
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
