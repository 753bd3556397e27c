# Where the ranks run, and how they are started: mpirun on this machine or on --hosts, srun or mpirun within a Slurm job. Sourced by lib.sh.
# shellcheck shell=sh
# shellcheck disable=SC2034,SC2154 # variables are shared with the other parts

# "openmpi", "hydra" (MPICH and its relatives) or "unknown".
mpirun_flavour() {
    case $("$1" --version 2>&1 | head -n 3) in
    *'Open MPI'* | *OpenRTE* | *PRRTE* | *prte*) echo openmpi ;;
    *HYDRA* | *MPICH* | *Intel*) echo hydra ;;
    *) echo unknown ;;
    esac
}

# choose_launcher: sets starts_with (srun, mpirun), and what each needs to know
choose_launcher() {
    [ -z "${starts_with-}" ] || return 0
    mpirun=${NOISELAB_MPIRUN:-mpirun}
    starts_with=${launcher:-${NOISELAB_LAUNCHER:-auto}}
    [ -z "$hosts" ] || starts_with=mpirun
    case $starts_with in
    srun) in_slurm_job || die 2 "--launcher srun: this is not a Slurm job (try sbatch, salloc or --submit)" ;;
    mpirun) ;;
    auto)
        starts_with=mpirun
        if in_slurm_job && [ -z "${NOISELAB_MPIRUN-}" ] && srun_mpi >/dev/null; then starts_with=srun; fi
        ;;
    *) die 2 "--launcher: '$starts_with' is not a launcher (try srun, mpirun, auto)" ;;
    esac
    case $starts_with in
    srun)
        srun_mpi=$(srun_mpi) || die 2 "--launcher srun: this srun can start neither pmix nor pmi2 programs (srun --mpi=list); try --launcher mpirun"
        find_binding
        ;;
    mpirun)
        command -v "$mpirun" >/dev/null || die 2 "'$mpirun' is not in PATH: install an MPI library or set NOISELAB_MPIRUN"
        flavour=$(mpirun_flavour "$mpirun")
        [ "$flavour" != unknown ] || note "unknown mpirun: ranks are started without binding"
        ;;
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
    hosts=$(node_names | paste -sd , -)
}

# lines_of_cpus TEXT: the lines "host cores cpus" of it, sorted; launchers add words of their own
lines_of_cpus() { printf '%s\n' "$1" | awk 'NF == 3 && $2 ~ /^[0-9]+$/' | sort; }

# hosts_cpus: one line "host cores cpus" for each of --hosts. Needs choose_launcher.
hosts_cpus() {
    n_nodes=$(node_names | wc -l) per_node=1 binding=none
    use_nodes=$n_nodes
    look=$(run_mpirun - "$NOISELAB_BIN/noiselab-gen" --list cpus 2>&1 </dev/null) ||
        die 2 "--hosts: '$mpirun' cannot start a program on $hosts: $(printf '%s\n' "$look" | grep '[A-Za-z]' | first_line)"
    look=$(lines_of_cpus "$look")
    # the load of one node is addressed by the name that the node itself has
    strange=$(printf '%s\n' "$look" | awk -v hosts="$hosts" '
        { short = $1; sub(/\..*/, "", short); n_called[$1]++; n_short[short]++; if (short == $1) n_bare[short]++ }
        END {
            # a name without its domain may be any node of that short name, and one with it those that do not say theirs
            n = split(hosts, name, ",")
            for (i = 1; i <= n; i++) {
                short = name[i]
                sub(/\..*/, "", short)
                n_meant = short == name[i] ? n_short[short] : n_called[name[i]] + n_bare[short]
                if (!n_meant) print "no node calls itself " name[i]
                else if (n_meant > 1 && n_meant > n_called[name[i]]) print "several nodes could be " name[i]
                else continue
                exit
            }
        }')
    [ -z "$strange" ] ||
        die 2 "--hosts: $strange: they are $(printf '%s\n' "$look" | cut -d ' ' -f 1 | paste -sd , -) (uname -n);" \
            'say these names'
    printf '%s\n' "$look"
}

# find_cpus: sets n_nodes and cores, the number of cores of each node that this process, this job or --hosts may use (0: unknown); node_cores has
# one line "host cores cpus" for each node
find_cpus() {
    find_node_names
    if [ -n "$hosts" ]; then
        choose_launcher
        node_cores=$(hosts_cpus) || exit 2
    elif in_slurm_job; then
        node_cores=$(slurm_cpus) || exit 2
    else
        node_cores=$("$NOISELAB_BIN/noiselab-gen" --list cpus) || exit 2
    fi
    # nothing here guesses what noiselab-gen meant
    [ -n "$(lines_of_cpus "$node_cores")" ] || die 70 "noiselab-gen --list cpus said '$(printf '%s\n' "$node_cores" | first_line)', not 'host cores cpus'"
    n_nodes=$(printf '%s\n' "$node_cores" | wc -l)
    # the fewest: nodes that differ are refused where that matters
    cores=$(printf '%s\n' "$node_cores" | awk 'NR == 1 || $2 < fewest { fewest = $2 } END { print fewest + 0 }')
}

# same_cores: refuses nodes with different numbers of cores, where one rank per core is asked for
same_cores() {
    kinds=$(printf '%s\n' "$node_cores" | awk '
        !($2 in n) { kind[++n_kinds] = $2 }
        { if (n[$2]++ < 3) names[$2] = names[$2] (names[$2] == "" ? "" : ",") $1 }
        END {
            for (i = 1; i <= n_kinds; i++) {
                c = kind[i]
                printf "%s%s%s has %d core(s)", (i > 1 ? ", " : ""), names[c], (n[c] > 3 ? " and " (n[c] - 3) " more" : ""), c
            }
        }')
    case $kinds in
    *', '*' core(s)'*) die 2 "the nodes differ: $kinds: take nodes of one kind, or give the number of ranks (--ranks $((n_nodes * cores)))" ;;
    esac
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

# all_ranks NODES: prints the number of ranks of a launch on so many nodes, one per allowed core
all_ranks() {
    [ "$cores" != 0 ] || whole 'number of allowed cores (say it with --ranks)' "$cores"
    echo $(($1 * cores))
}

# take_launch_words WORDS: what a row of the schedule says to the runner, ahead of the program's own words: --program=accept (noiselab-accept in
# place of the detector), --rotate=FIRST:STEP (the order of nodes: that one first, then each STEP-th of the ring), --noise-node=K (the K-th node
# of the list has the noise), --follow=COMMAND (a program that the detector follows, quoted for the shell), --with=NAME=VALUE (a variable of the MPI
# library or the launcher, for this launch). Sets n_launch_words, follows, launch_program, launch_with (lines), ordered (yes: nodes_wanted is the order
# of the ranks), nodes_wanted, noise_node.
take_launch_words() {
    launch_program=noiselab-detect ordered='' noise_node='' follows='' launch_with=''
    n_words=$#
    while [ $# -gt 0 ]; do
        value=${1#*=}
        case $1 in
        --program=accept) launch_program=noiselab-accept ;;
        --follow=*) follows=$value ;;
        --with=*)
            is_setting "$value" || die 2 "'$schedule': '$1' is not a setting of an MPI library"
            launch_with=$launch_with$value$newline
            ;;
        --rotate=*[!0-9:]* | --rotate=:* | --rotate=*:0* | --rotate=*: | --rotate=*:*:* | --noise-node=*[!0-9]* | --noise-node= | --noise-node=0*)
            die 2 "'$schedule': '$1' is not an order of nodes or the number of one"
            ;;
        --rotate=*:*) turn_nodes "${value%:*}" "${value#*:}" ;;
        --noise-node=*) noise_node=$(nodes_of_list | awk -v k="$value" '{ name[NR] = $1 } END { print name[(k - 1) % NR + 1] }') ;;
        *) break ;;
        esac
        shift
    done
    n_launch_words=$((n_words - $#))
}

# is_setting NAME=VALUE: a variable that a library or a launcher reads, and plain
is_setting() {
    case $1 in
    *[!A-Za-z0-9_=:.+-]*) return 1 ;;
    OMPI_MCA_*=?* | PRTE_MCA_*=?* | UCX_*=?* | SLURM_DISTRIBUTION=?*) return 0 ;;
    *) return 1 ;;
    esac
}

# export_settings LINES: NAME=VALUE
export_settings() {
    while IFS= read -r setting; do
        [ -z "$setting" ] || export "${setting?}"
    done <<EOT
$1
EOT
}

# nodes_of_list: the nodes of nodes_wanted, one on a line; of - all that there are, here this machine
nodes_of_list() {
    if [ "$nodes_wanted" != - ]; then
        printf '%s\n' "$nodes_wanted" | tr ',' '\n'
    elif knows_nodes; then
        node_names
    else
        uname -n
    fi
}

# turn_nodes FIRST STEP: nodes_wanted in that order; a step that would not reach all nodes, of a plan for another number of them, is 1
turn_nodes() {
    [ "$1:$2" != 0:1 ] || return 0
    make_scratch
    nodes_wanted=$(nodes_of_list | awk -v first="$1" -v step="$2" '
        function gcd(a, b, t) { while (b) { t = a % b; a = b; b = t } return a }
        { name[NR - 1] = $1 }
        END {
            if (gcd(step, NR) != 1) step = 1
            for (i = 0; i < NR; i++) out = out (i ? "," : "") name[(first + i * step) % NR]
            print out
        }')
    ordered=yes
}

# become WORDS: that command; one that belongs to the launch $token ends with this script, however that ends
become() {
    [ -z "${token-}" ] || set -- "$NOISELAB_LIBEXEC/noiselab-sh" owned "$$" "$token" "$@"
    exec "$@"
}

# run_mpirun NODES PROGRAM ARGUMENTS: use_nodes and per_node are set; NODES - leaves the choice to mpirun, or is all of --hosts. Becomes mpirun: call
# it in the background, where a signal then reaches mpirun itself. binding: core, if it is not set.
run_mpirun() {
    nodes_of_step=$1
    shift
    n_ranks=$((use_nodes * per_node))
    [ "$nodes_of_step" != - ] || nodes_of_step=${hosts:--}
    if [ "$flavour" = openmpi ]; then
        if [ "$(id -u)" = 0 ]; then
            # Open MPI refuses root unless told twice; on a machine of one's own, root is what people are
            OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
            PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1
            export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM PRTE_ALLOW_RUN_AS_ROOT PRTE_ALLOW_RUN_AS_ROOT_CONFIRM
        fi
        # what the user has set for Open MPI 4 or 5 holds: its core may be one that the nodes' own limits do not allow
        set_by_user=${OMPI_MCA_hwloc_base_binding_policy:-${PRTE_MCA_hwloc_default_binding_policy-}}
        binding=${binding:-${set_by_user:-core}}
        [ "$nodes_of_step" = - ] || run_node_by_node "$@"
        mapping=core
        [ "$binding" != none ] || mapping=slot
        [ "$n_nodes" = 1 ] || mapping=ppr:$per_node:node
        # a launch that says by its variables where ranks go
        case ${launch_with-} in
        *_mapping_policy=*) become "$mpirun" -n "$n_ranks" --bind-to "$binding" "$@" ;;
        esac
        become "$mpirun" -n "$n_ranks" --map-by "$mapping" --bind-to "$binding" "$@"
    fi
    [ "$nodes_of_step" = - ] || set -- -hosts "$nodes_of_step" "$@"
    [ "$n_nodes" = 1 ] || set -- -ppn "$per_node" "$@"
    [ "$flavour" = unknown ] || set -- -bind-to "${binding:-core}" "$@"
    become "$mpirun" -n "$n_ranks" "$@"
}

# run_node_by_node PROGRAM ARGUMENTS: becomes Open MPI's mpirun. Of one list of hosts it makes an order of its own (the one it runs on first, or that
# of the Slurm job); contexts, one for each node, are numbered as they stand.
run_node_by_node() {
    become "$NOISELAB_LIBEXEC/noiselab-sh" each-node "$per_node" "$(words "$nodes_of_step" | tr ' ' '\n' | head -n "$use_nodes" | paste -sd , -)" \
        "$mpirun" --map-by slot --bind-to "$binding" -- "$@"
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
    kept=''
    while IFS= read -r line || [ -n "$line" ]; do
        is_edge=''
        case $line in ----------------------*) is_edge=yes ;; esac
        if [ -z "$kept$is_edge" ]; then
            printf '%s\n' "$line"
            continue
        fi
        if [ -z "$kept" ]; then
            kept=$line
            continue
        fi
        kept=$kept$newline$line
        [ -n "$is_edge" ] || continue
        case $kept in
        *'Primary job '*'terminated normally, but'* | *'exited with non-zero status, thus causing'*) ;;
        *) printf '%s\n' "$kept" ;;
        esac
        kept=''
    done
    [ -z "$kept" ] || printf '%s\n' "$kept"
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
    asked=''
    for host in $(node_names); do
        n_nodes=1 use_nodes=1 per_node=1 binding=none
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
    lost_words=", and there is no answer from $(printf '%s' "$lost" | sed 's/,/, /g')"
    # shellcheck disable=SC2016 # awk's
    schedule_key lost | grep -qxF -- "$1 $lost" ||
        change_schedule '$1 == "launch" { print "# lost: " lost } { print }' -v lost="$1 $lost"
}

# hear_out: waits until all is said, but not for what somebody left behind holds open
hear_out() {
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        kill -0 "$teller" 2>/dev/null || break
        sleep 0.1
    done
    rm -f "$said"
}

# is_ours FOLDER: it is one, and belongs to this user; another script may remove it at this moment
is_ours() { [ -d "$1" ] && [ ! -L "$1" ] && [ -n "$(find "$1" -prune -user "$(id -u)" 2>/dev/null)" ]; }

# shared_memory: sets shm, a folder of this process for what ranks on this host share: killed ones leave it behind, and it goes with the folder. Empty
# where ranks run elsewhere, too, or the user has chosen. Those of scripts that were killed go now.
shared_memory() {
    shm=''
    for folder in "/dev/shm/noiselab.$(id -u)."*; do
        is_ours "$folder" || continue
        mark=${folder##*/} space=$(readlink /proc/self/ns/pid | tr -dc 0-9)
        # .UID.NAMESPACE.PID.START
        mark=${mark#noiselab.*.}
        [ "${mark%%.*}" = "$space" ] || continue
        mark=${mark#*.}
        ! is_process_gone "${mark%.*}" "${mark#*.}" || rm -rf "$folder"
    done
    [ "$n_nodes" = 1 ] && [ -z "$hosts" ] && [ "$starts_with" = mpirun ] || return 0
    [ -z "${OMPI_MCA_btl_vader_backing_directory-}${OMPI_MCA_btl_sm_backing_directory-}" ] || return 0
    shm=/dev/shm/noiselab.$(id -u).$(readlink /proc/self/ns/pid | tr -dc 0-9).$$.$(process_start $$)
    mkdir -m 700 "$shm" 2>/dev/null || shm=''
}

# end_of_session PID: of what mpirun PID and its ranks were, nothing runs and nothing stays on this host; what cannot be ended does not stop us
end_of_session() {
    "$NOISELAB_LIBEXEC/noiselab-sh" end "$token" "$1" || note "going on beside them would disturb the measurement"
    [ -z "$shm" ] || rm -rf "$shm"
    host=$(uname -n)
    # Open MPI 4 and 5, with and without the domain
    for folder in "ompi.$host.$(id -u)/pid.$1" "ompi.${host%%.*}.$(id -u)/pid.$1" "prte.$host.$(id -u)/dvm.$1" "prte.${host%%.*}.$(id -u)/dvm.$1"; do
        folder=${TMPDIR:-/tmp}/$folder
        if ! is_ours "${folder%/*}" || ! is_ours "$folder"; then continue; fi
        rm -rf "$folder"
        rmdir "${folder%/*}" 2>/dev/null
    done
    return 0
}

# one_launch NAME NODES RANKS ARGUMENTS: runs launch_program (or the detector) on a list of nodes, or all (-), so many ranks or one per core (-);
# its status is in status, its time in took_s. Needs choose_launcher, find_cpus and catch_signals.
one_launch() {
    step_name=$1 nodes_of_launch=$2 ranks_of_launch=$3
    shift 3
    n_nodes_of_launch=$n_nodes
    # shellcheck disable=SC2046 # names of nodes hold no spaces
    [ "$nodes_of_launch" = - ] || n_nodes_of_launch=$(set -- $(words "$nodes_of_launch") && echo $#)
    began=$(date +%s)
    token=$(if [ -d "$campaign" ]; then readlink -f "$campaign"; else echo "$$-$(process_start $$)"; fi)/$step_name
    # of an attempt whose script was killed something may still be on its way out
    "$NOISELAB_LIBEXEC/noiselab-sh" end "$token"
    shared_memory
    if [ -n "${follows-}" ]; then
        run_program "$step_name" "$follows"
        # they sleep where the program's ranks are, and do not spin beside them
        set -- "$@" --app "$program_folder" --oversubscribe
        binding=none
        export OMPI_MCA_rmaps_base_oversubscribe=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_mpi_yield_when_idle=1
    else
        if [ "$ranks_of_launch" = - ]; then
            same_cores
            ranks_of_launch=$(all_ranks "$n_nodes_of_launch")
        fi
        spread "$step_name" "$ranks_of_launch" "$n_nodes_of_launch"
    fi
    make_scratch
    said=$scratch/said.$step_name teller=''
    if [ "$starts_with:${flavour-}" = mpirun:openmpi ] && mkfifo "$said" 2>/dev/null; then
        without_farewell <"$said" >&2 &
        teller=$!
    fi
    # the ranks read nothing: what is on our own input is not theirs
    (
        [ -z "$teller" ] || exec 2>"$said"
        export_settings "${launch_with-}"
        if [ -n "$shm" ]; then
            export OMPI_MCA_btl_vader_backing_directory="$shm" OMPI_MCA_btl_sm_backing_directory="$shm"
        fi
        if [ "${launch_program:-noiselab-detect}" = noiselab-detect ]; then
            handing_on "run_$starts_with" "$nodes_of_launch" "$NOISELAB_BIN/noiselab-detect" "$@"
        else
            "run_$starts_with" "$nodes_of_launch" "$NOISELAB_BIN/$launch_program" "$@"
        fi
    ) </dev/null >/dev/null &
    running=$! launcher_pid=$!
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
    took_s=$(($(date +%s) - began))
}
