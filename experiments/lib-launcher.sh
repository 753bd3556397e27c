# Where the ranks run, and how they are started: mpirun on this machine or on --hosts, srun or mpirun within a Slurm job. Sourced by lib.sh.
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared with the other parts

# find_flavour: sets flavour: openmpi, hydra (MPICH and its relatives) or unknown
find_flavour() {
    local -a said
    mapfile -n 3 said < <("$mpirun" --version 2>&1)
    case ${said[*]} in
    *'Open MPI'* | *OpenRTE* | *PRRTE* | *prte*) flavour=openmpi ;;
    *HYDRA* | *MPICH* | *Intel*) flavour=hydra ;;
    *)
        flavour=unknown
        note 'unknown mpirun: ranks are started without binding'
        ;;
    esac
}

# choose_launcher: sets starts_with (srun, mpirun), and what each needs to know
choose_launcher() {
    [ -z "${starts_with-}" ] || return 0
    mpirun=${NOISELAB_MPIRUN:-mpirun}
    starts_with=${launcher:-${NOISELAB_LAUNCHER:-auto}}
    [ -z "$hosts" ] || starts_with=mpirun
    if [ "$starts_with" = auto ]; then
        starts_with=mpirun
        if in_slurm_job && [ -z "${NOISELAB_MPIRUN-}" ] && find_srun_mpi; then starts_with=srun; fi
    fi
    case $starts_with in
    srun)
        in_slurm_job || die 2 "--launcher srun: this is not a Slurm job (try sbatch, salloc or --submit)"
        find_srun_mpi || die 2 "--launcher srun: this srun can start neither pmix nor pmi2 programs (srun --mpi=list); try --launcher mpirun"
        find_binding
        ;;
    mpirun)
        command -v "$mpirun" >/dev/null || die 2 "'$mpirun' is not in PATH: install an MPI library or set NOISELAB_MPIRUN"
        find_flavour
        ;;
    *) die 2 "--launcher: '$starts_with' is not a launcher (try srun, mpirun, auto)" ;;
    esac
}

# knows_nodes: whether there are nodes with names to choose among: those of a Slurm job, or of --hosts
knows_nodes() { [ -n "$hosts" ] || in_slurm_job; }

# whose_nodes: whose they are, for messages
whose_nodes() { if [ -n "$hosts" ]; then echo '--hosts'; else echo "job $SLURM_JOB_ID"; fi; }

# check_hosts: makes one name after the other of --hosts, each once. A Slurm job has nodes of its own.
check_hosts() {
    [ -n "$hosts" ] || return 0
    [ -z "$submit" ] || die 2 '--hosts: a batch job has nodes of its own (--nodes N); leave it out'
    ! in_slurm_job || die 2 "--hosts: this is job $SLURM_JOB_ID, and the nodes are its own: choose among them with --nodes or --node-sets"
    [ "${launcher:-mpirun}" != srun ] || die 2 '--launcher srun: --hosts are reached by mpirun; leave one of them out'
    find_node_names
    hosts=${all_nodes//$newline/,}
}

# read_cpus TEXT: sets node_cores to the lines "host cores cpus" of it, sorted (launchers add words of their own), and n_nodes
read_cpus() {
    local line
    node_cores=()
    while IFS= read -r line; do
        [[ ! $line =~ ^[^[:space:]]+[[:space:]]+[0-9]+[[:space:]]+[^[:space:]]+$ ]] || node_cores+=("$line")
    done <<<"$1"
    n_nodes=${#node_cores[@]}
    [ "$n_nodes" -lt 2 ] || mapfile -t node_cores < <(printf '%s\n' "${node_cores[@]}" | sort)
}

# hosts_cpus: prints one line "host cores cpus" for each of --hosts, and what launchers add. Needs choose_launcher.
hosts_cpus() {
    local look
    look=${all_nodes//[!$'\n']/}
    n_nodes=$((${#look} + 1)) per_node=1 binding=none
    use_nodes=$n_nodes
    look=$(run_mpirun - "$NOISELAB_BIN/noiselab-gen" --list cpus 2>&1 </dev/null) || {
        first_line "$(grep '[A-Za-z]' <<<"$look")"
        die 2 "--hosts: '$mpirun' cannot start a program on $hosts: $REPLY"
    }
    printf '%s\n' "$look"
}

# refuse_strange_hosts: the load of one node is addressed by the name that the node itself has
refuse_strange_hosts() {
    local name short line names='' n_meant
    local -A n_called=() n_short=() n_bare=()
    for line in "${node_cores[@]}"; do
        name=${line%% *} short=${line%%[. ]*}
        names+=,$name
        n_called[$name]=$((${n_called[$name]-0} + 1)) n_short[$short]=$((${n_short[$short]-0} + 1))
        [ "$short" != "$name" ] || n_bare[$short]=$((${n_bare[$short]-0} + 1))
    done
    for name in $all_nodes; do
        short=${name%%.*}
        # a name without its domain may be any node of that short name, and one with it those that do not say theirs
        if [ "$short" = "$name" ]; then n_meant=${n_short[$short]-0}; else n_meant=$((${n_called[$name]-0} + ${n_bare[$short]-0})); fi
        line="several nodes could be $name"
        [ "$n_meant" != 0 ] || line="no node calls itself $name"
        if [ "$n_meant" = 1 ] || { [ "$n_meant" != 0 ] && [ "$n_meant" -le "${n_called[$name]-0}" ]; }; then continue; fi
        die 2 "--hosts: $line: they are ${names#,} (uname -n); say these names"
    done
}

# find_cpus: sets n_nodes and cores, the number of cores of each node that this process, this job or --hosts may use (0: unknown); node_cores has
# a line "host cores cpus" for each node. Known once for all launches.
find_cpus() {
    local look line each
    [ -z "${node_cores-}" ] || return 0
    find_node_names
    if [ -n "$hosts" ]; then
        choose_launcher
        look=$(hosts_cpus) || exit 2
    elif in_slurm_job; then
        look=$(slurm_cpus) || exit 2
    else
        look=$("$NOISELAB_BIN/noiselab-gen" --list cpus) || exit 2
    fi
    read_cpus "$look"
    # nothing here guesses what noiselab-gen meant
    [ "$n_nodes" -gt 0 ] || {
        first_line "$look"
        die 70 "noiselab-gen --list cpus said '$REPLY', not 'host cores cpus'"
    }
    [ -z "$hosts" ] || refuse_strange_hosts
    # the fewest: nodes that differ are refused where that matters
    cores=''
    for line in "${node_cores[@]}"; do
        read -r _ each _ <<<"$line"
        [ -n "$cores" ] && [ "$cores" -le "$each" ] || cores=$each
    done
}

# same_cores: refuses nodes with different numbers of cores, where one rank per core is asked for
same_cores() {
    local kinds
    kinds=$(awk '
        !($2 in n) { kind[++n_kinds] = $2 }
        { if (n[$2]++ < 3) names[$2] = names[$2] (names[$2] == "" ? "" : ",") $1 }
        END {
            for (i = 1; n_kinds > 1 && i <= n_kinds; i++)
                printf "%s%s%s has %d core(s)", (i > 1 ? ", " : ""), names[kind[i]], (n[kind[i]] > 3 ? " and " (n[kind[i]] - 3) " more" : ""), kind[i]
        }' < <(printf '%s\n' "${node_cores[@]}"))
    [ -z "$kinds" ] ||
        die 2 "the nodes differ: $kinds: take nodes of one kind, or give the number of ranks (--ranks $((n_nodes * cores)))"
}

# spread NAME RANKS NODES: sets use_nodes and per_node for so many ranks on at most so many nodes, the same number on each
spread() {
    whole "$1" "$2"
    use_nodes=$3
    [ "$use_nodes" -le "$2" ] || use_nodes=$2
    while [ $(($2 % use_nodes)) != 0 ]; do use_nodes=$((use_nodes - 1)); done
    per_node=$(($2 / use_nodes))
    [ "$cores" = 0 ] || [ "$per_node" -le "$cores" ] || {
        [ "$3" = 1 ] || die 2 "$1: $2 ranks on $3 nodes of $cores allowed core(s) would be $per_node on each of $use_nodes, and disturb each other:" \
            "start at most $((cores * $3)), the same number on each node"
        die 2 "$1: $2 ranks on $cores allowed cores would disturb each other: start at most $cores"
    }
}

# all_ranks NODES: sets REPLY to the number of ranks of a launch on so many nodes, one per allowed core
all_ranks() {
    [ "$cores" != 0 ] || whole 'number of allowed cores (say it with --ranks)' "$cores"
    REPLY=$(($1 * cores))
}

# take_launch_words WORDS: what a row of the schedule says to the runner, ahead of the program's own words (docs/reference/formats.md). Sets n_launch_words,
# follows, launch_program, launch_with (lines), ordered (yes: nodes_wanted is the order of the ranks), nodes_wanted, noise_node.
take_launch_words() {
    launch_program=noiselab-detect ordered='' noise_node='' follows='' launch_with=''
    n_words=$#
    while [ $# -gt 0 ]; do
        value=${1#*=}
        case $1 in
        --program=accept) launch_program=noiselab-accept ;;
        --follow=*) follows=$value ;;
        --with=*)
            # a variable that a library or a launcher reads, and plain
            [[ $value =~ ^((OMPI_MCA|PRTE_MCA|UCX)_[A-Za-z0-9_:.+-]*|SLURM_DISTRIBUTION)=[A-Za-z0-9_=:.+-]+$ ]] || die 2 "'$schedule': '$1' is not a setting of an MPI library"
            launch_with=$launch_with$value$newline
            ;;
        --rotate=*[!0-9:]* | --rotate=:* | --rotate=*:0* | --rotate=*: | --rotate=*:*:* | --noise-node=*[!0-9]* | --noise-node= | --noise-node=0*)
            die 2 "'$schedule': '$1' is not an order of nodes or the number of one"
            ;;
        --rotate=*:*) turn_nodes "${value%:*}" "${value#*:}" ;;
        --noise-node=*)
            find_nodes_of_list
            noise_node=${nodes_of_list[(value - 1) % ${#nodes_of_list[@]}]}
            ;;
        *) break ;;
        esac
        shift
    done
    n_launch_words=$((n_words - $#))
}

# export_settings LINES: NAME=VALUE
export_settings() {
    while IFS= read -r setting; do
        [ -z "$setting" ] || export "${setting?}"
    done <<<"$1"
}

# find_nodes_of_list: sets the array nodes_of_list to the nodes of nodes_wanted; of - all that there are, here this machine
find_nodes_of_list() {
    local list=$nodes_wanted
    [ "$list" != - ] || { find_self && list=$this_host; }
    [ "$nodes_wanted" != - ] || ! knows_nodes || list=$all_nodes
    # shellcheck disable=SC2206 # names of nodes hold no spaces
    nodes_of_list=(${list//,/ })
}

# turn_nodes FIRST STEP: nodes_wanted in that order; a step that would not reach all nodes, of a plan for another number of them, is 1
turn_nodes() {
    local n i list='' a=$2 b
    [ "$1:$2" != 0:1 ] || return 0
    make_scratch
    find_nodes_of_list
    n=${#nodes_of_list[@]}
    # the greatest common divisor
    for ((b = n; b; i = a % b, a = b, b = i)); do :; done
    for ((i = 0; i < n; i++)); do list+=,${nodes_of_list[($1 + i * (a == 1 ? $2 : 1)) % n]}; done
    nodes_wanted=${list#,} ordered=yes
}

# become WORDS: that command; one that belongs to the launch $token ends with this script, however that ends
become() {
    [ -z "${token-}" ] || set -- "$NOISELAB_LIBEXEC/noiselab-sh" owned "$$" "$token" "$@"
    exec "$@"
}

# allow_root: Open MPI refuses root unless told twice; on a machine of one's own, root is what people are
allow_root() {
    [ "$EUID" != 0 ] ||
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
}

# run_mpirun NODES PROGRAM ARGUMENTS: use_nodes and per_node are set; NODES - leaves the choice to mpirun, or is all of --hosts. Becomes mpirun: call
# it in the background, where a signal then reaches mpirun itself. binding: core, if it is not set.
run_mpirun() {
    local node names contexts=()
    nodes_of_step=$1
    shift
    n_ranks=$((use_nodes * per_node))
    [ "$nodes_of_step" != - ] || nodes_of_step=${hosts:--}
    if [ "$flavour" = openmpi ]; then
        allow_root
        # what the user has set for Open MPI 4 or 5 holds: its core may be one that the nodes' own limits do not allow
        set_by_user=${OMPI_MCA_hwloc_base_binding_policy:-${PRTE_MCA_hwloc_default_binding_policy-}}
        binding=${binding:-${set_by_user:-core}}
        # of one list of hosts it makes an order of its own (the one it runs on first, or that of the Slurm job); contexts, one for each node, are numbered as
        # they stand
        if [ "$nodes_of_step" != - ]; then
            IFS=, read -ra names <<<"$nodes_of_step"
            for node in "${names[@]:0:use_nodes}"; do
                contexts+=(${contexts:+:} -n "$per_node" --host "$node:$per_node" "$@")
            done
            become "$mpirun" --map-by slot --bind-to "$binding" "${contexts[@]}"
        fi
        mapping=core
        [ "$binding" != none ] || mapping=slot
        [ "$n_nodes" = 1 ] || mapping=ppr:$per_node:node
        # a launch may say by its variables where ranks go
        [[ ${launch_with-} == *_mapping_policy=* ]] || set -- --map-by "$mapping" "$@"
        become "$mpirun" -n "$n_ranks" --bind-to "$binding" "$@"
    fi
    [ "$nodes_of_step" = - ] || set -- -hosts "$nodes_of_step" "$@"
    [ "$n_nodes" = 1 ] || set -- -ppn "$per_node" "$@"
    [ "$flavour" = unknown ] || set -- -bind-to "${binding:-core}" "$@"
    become "$mpirun" -n "$n_ranks" "$@"
}

# catch_signals: from here on a signal ends the launch, and with it the load, at once, and sets interrupted=yes; what was taken stays
catch_signals() {
    interrupted=no
    running='' step_name=''
    trap 'interrupted=yes; stop_launch' INT TERM HUP
}

# end_on_signals: where no launch runs a signal is the end, after what runs in the foreground
end_on_signals() { trap 'die_interrupted' INT TERM HUP; }

die_interrupted() {
    [ ! -f "${campaign-}/schedule.tsv" ] || die 2 "interrupted; what was taken is in '$campaign'; $(how_to_go_on)"
    die 2 'interrupted; nothing was measured'
}

stop_launch() {
    [ -n "$running" ] || return 0
    # srun answers a TERM by killing the ranks, which then could not end their files: the ranks are told themselves
    [ "$starts_with" = srun ] && signal_step "$step_name" && return 0
    kill -TERM "$running" 2>/dev/null
}

# without_farewell: what is said, without the paragraphs in which Open MPI says that a rank ended with a status other than 0: the rank said why
without_farewell() {
    trap '' INT TERM HUP
    # from one line of dashes to the next
    LC_ALL=C exec sed -u '/^----------------------/ { :a; N; /\n----------------------[^\n]*$/! ba
        /Primary job .*terminated normally, but/ d; /exited with non-zero status, thus causing/ d }'
}

# lost_nodes: those that do not answer any more, separated by commas: that Slurm has lost, or on which mpirun starts nothing
lost_nodes() {
    if in_slurm_job; then
        sinfo --noheader --Node --nodes="$SLURM_JOB_NODELIST" --format='%n %T' 2>/dev/null |
            awk '($2 ~ /\*$/ || $2 ~ /down|fail/) && !seen[$1]++ { print $1 }'
    elif [ -n "$hosts" ]; then
        silent_hosts
    fi | paste -sd , -
}

# silent_hosts: those of --hosts on which mpirun starts no program within 15 s; all are asked at once. Changes n_nodes and its like: call it in a
# subshell.
silent_hosts() {
    asked='' n_nodes=1 use_nodes=1 per_node=1 binding=none
    for host in $all_nodes; do
        run_mpirun "$host" "$NOISELAB_BIN/noiselab-gen" --list cpus </dev/null >/dev/null 2>&1 &
        asked="$asked $host:$!"
    done
    (sleep 15 && for ask in $asked; do kill "${ask##*:}"; done) >/dev/null 2>&1 &
    limit=$!
    for ask in $asked; do wait "${ask##*:}" || echo "${ask%:*}"; done
    kill "$limit" 2>/dev/null
}

# keep_lost LAUNCH: sets lost_words, part of a message, and notes the nodes that LAUNCH lost in the schedule, for the verdict
keep_lost() {
    lost_words='' lost=$(lost_nodes)
    [ -n "$lost" ] || return 0
    lost_words=", and there is no answer from ${lost//,/, }"
    # shellcheck disable=SC2016 # awk's
    [[ $newline${schedule_values[lost]-}$newline == *"$newline$1 $lost$newline"* ]] ||
        change_schedule '$1 == "launch" { print "# lost: " lost } { print }' -v lost="$1 $lost"
}

# hear_out: waits until all is said, but not for what somebody left behind holds open
hear_out() {
    local i
    for ((i = 0; i < 20; i++)); do
        kill -0 "$teller" 2>/dev/null || return 0
        sleep 0.1
    done
}

# is_ours FOLDER: it is one, and belongs to this user; another script may remove it at this moment
is_ours() { [ -d "$1" ] && [ ! -L "$1" ] && [ -O "$1" ]; }

# shared_memory: sets shm, a folder of this process for what ranks on this host share: killed ones leave it behind, and it goes with the folder. Empty
# where ranks run elsewhere, too, or the user has chosen. Those of scripts that were killed go now.
shared_memory() {
    local folder mark number
    shm=''
    find_self
    number=${space//[!0-9]/}
    for folder in "/dev/shm/noiselab.$EUID.$number."*; do
        is_ours "$folder" || continue
        # .PID.START
        mark=${folder#"/dev/shm/noiselab.$EUID.$number."}
        ! is_process_gone "${mark%.*}" "${mark#*.}" || rm -rf "$folder"
    done
    [ "$n_nodes" = 1 ] && [ -z "$hosts" ] && [ "$starts_with" = mpirun ] || return 0
    [ -z "${OMPI_MCA_btl_vader_backing_directory-}${OMPI_MCA_btl_sm_backing_directory-}" ] || return 0
    process_start $$
    shm=/dev/shm/noiselab.$EUID.$number.$$.$REPLY
    mkdir -m 700 "$shm" 2>/dev/null || shm=''
}

# end_of_session PID: of what mpirun PID and its ranks were, nothing runs and nothing stays on this host; what cannot be ended does not stop us
end_of_session() {
    local folder host
    local -a left=()
    "$NOISELAB_LIBEXEC/noiselab-sh" end "$token" "$1" || note "going on beside them would disturb the measurement"
    [ -z "$shm" ] || left+=("$shm")
    # Open MPI 4 and 5, with and without the domain
    for host in "$this_host" "${this_host%%.*}"; do
        for folder in "ompi.$host.$EUID/pid.$1" "prte.$host.$EUID/dvm.$1"; do
            folder=${TMPDIR:-/tmp}/$folder
            if is_ours "${folder%/*}" && is_ours "$folder"; then left+=("$folder"); fi
        done
    done
    for folder in "${left[@]}"; do
        rm -rf "$folder"
        [ "$folder" = "$shm" ] || rmdir "${folder%/*}" 2>/dev/null
    done
    return 0
}

# launch_token NAME: sets token, by which the processes of a launch of this campaign are known
launch_token() {
    process_start $$
    token=$$-$REPLY/$1
    [ ! -d "$campaign" ] || token=$(readlink -f "$campaign")/$1
}

# take_turns: more ranks than cores, which then sleep where they wait
take_turns() {
    binding=none
    export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_mpi_yield_when_idle=1
}

# one_launch NAME NODES RANKS ARGUMENTS: runs launch_program (or the detector) on a list of nodes, or all (-), so many ranks or one per core (-);
# its status is in status, its time in took_s. Needs choose_launcher, find_cpus and catch_signals.
one_launch() {
    local nodes_of_launch=$2 ranks_of_launch=$3 n_nodes_of_launch hears=2 teller=''
    step_name=$1
    shift 3
    n_nodes_of "$nodes_of_launch"
    n_nodes_of_launch=$REPLY
    now
    local began=$REPLY
    launch_token "$step_name"
    shared_memory
    if [ -n "${follows-}" ]; then
        run_program "$step_name" "$follows"
        # they sleep where the program's ranks are, and do not spin beside them
        set -- "$@" --app "$program_folder" --oversubscribe
        take_turns
    else
        if [ "$ranks_of_launch" = - ]; then
            same_cores
            all_ranks "$n_nodes_of_launch"
            ranks_of_launch=$REPLY
        fi
        spread "$step_name" "$ranks_of_launch" "$n_nodes_of_launch"
    fi
    make_scratch
    if [ "$starts_with:${flavour-}" = mpirun:openmpi ]; then
        exec {hears}> >(without_farewell >&2)
        teller=$!
    fi
    [ "${launch_program:=noiselab-detect}" != noiselab-detect ] || find_options detect gen agent
    # the ranks read nothing: what is on our own input is not theirs
    (
        [ -z "$teller" ] || exec {hears}>&-
        export_settings "${launch_with-}"
        [ -z "$shm" ] || export OMPI_MCA_btl_vader_backing_directory="$shm" OMPI_MCA_btl_sm_backing_directory="$shm"
        set -- "run_$starts_with" "$nodes_of_launch" "$NOISELAB_BIN/$launch_program" "$@"
        if [ "$launch_program" = noiselab-detect ]; then handing_on "$@"; else "$@"; fi
    ) </dev/null >/dev/null 2>&"$hears" &
    running=$! launcher_pid=$!
    [ -z "$teller" ] || exec {hears}>&-
    # a signal may have come between the last look and now
    [ "$interrupted" = no ] || stop_launch
    # a trapped signal ends wait early: wait until the launcher has really gone, or was ended
    while :; do
        wait "$running"
        status=$?
        kill -0 "$running" 2>/dev/null || break
        # srun ends its ranks by itself, and at a second signal before they have ended their files
        [ "$interrupted" = no ] || [ "$starts_with" = srun ] || "$NOISELAB_LIBEXEC/noiselab-sh" end "$token" "$running" 2>/dev/null || break
    done
    running=''
    [ -z "${follows-}" ] || wait_for_program
    end_of_session "$launcher_pid"
    [ -z "$teller" ] || hear_out
    token=''
    now
    took_s=$((REPLY - began))
}
