# What holds for a whole launch, as arms of noiselab run advise: the eager limit, and where ranks are placed. Each launch has one setting, in sets in random
# order. Sourced by advise.sh.
# shellcheck shell=bash disable=SC2034,SC2154 # variables are shared with the other parts

# a little below and above the powers of two, so that a step is seen where it is
eager_bytes=960,1088,1920,2176,3840,4352,7680,8704,15360,17408,30720,34816,61440,69632

# check_arms: what --arms says; sets compares (algorithms, eager, mapping) and limits_wanted
check_arms() {
    compares=${arms%%:*} limits_wanted=''
    case $arms in
    algorithms | mapping | eager) ;;
    eager:*) limits_wanted=$(bytes_of_sizes <<<"${arms#*:}") || die 2 "--arms: '$arms': the limits are sizes (try eager:16KiB,64KiB)" ;;
    *) die 2 "--arms: '$arms' is not algorithms, eager (eager:16KiB,64KiB) or mapping" ;;
    esac
    [ "$compares" != algorithms ] || return 0
    if was_given --arrival; then die 2 "--arrival: late ranks are of --arms algorithms; leave it out"; fi
    arrival=none plans_again=''
    [ "$compares,${hosts:+hosts}" != mapping,hosts ] ||
        die 2 '--arms mapping: mpirun starts a context on each node, and no mapping holds for all: in a Slurm job srun can compare them'
    [ -z "$submit" ] || plan_later='what the library uses is known after a look on the nodes'
    was_given --op || [ "$compares" != eager ] || op=loadtest
    was_given --op || [ "$compares" != mapping ] || op=allreduce,bcast,alltoall
    was_given --bytes || [ "$compares" != eager ] || bytes=$eager_bytes
}

# bytes_of_sizes: sizes, a line each, in bytes; fails at what is none
bytes_of_sizes() {
    awk -v RS='[,\n]' '
        !/^[1-9][0-9]*(B|KiB|MiB)?$/ || length($0) > 9 { bad = 1; exit }
        { print ($0 + 0) * ($0 ~ /KiB/ ? 1024 : $0 ~ /MiB/ ? 1048576 : 1) }
        END { exit bad || !NR }'
}

# look LAUNCH SETTINGS: a short launch with these lines NAME=VALUE; its record is then $scratch/LAUNCH.json. Status 1: it did not start.
look() {
    launch_with=$2
    one_launch "$1" - "$ranks_planned" --out "$scratch/looks" --launch-id "$1" --op barrier --design single --levels none --seconds 100ms \
        --warmup 0s --progress off 2>"$scratch/$1.said"
    launch_with=''
    [ "$interrupted" = no ] || die 2 'interrupted; nothing was measured'
    [ "$status" -eq 0 ] && mv "$scratch/looks/$1/launch.json" "$scratch/$1.json" 2>/dev/null
}

# find_settings: the arms into $scratch/settings, a line "NAME=VALUE NAME=VALUE" for each, that with which the others are compared first
find_settings() {
    choose_launcher
    catch_signals
    : >"$scratch/settings"
    "find_$compares"
    end_on_signals
}

find_eager() {
    look look-eager '' || {
        first_line "$(<"$scratch/look-eager.said")"
        die 2 "a first look ended with status $status: $REPLY"
    }
    parameter() { json_values "$scratch/look-eager.json" -- "mpi.parameters.$1" 2>/dev/null; }
    parameter pml
    case $REPLY in
    ob1)
        transport=
        for name in $([ "$n_nodes" = 1 ] || echo tcp) vader sm; do parameter "btl_${name}_eager_limit" && limit=$REPLY transport=$name && break; done
        [ -n "$transport" ] || die 2 "--arms eager: the MPI library says of no transport here up to which size it sends at once"
        for value in $limit ${limits_wanted:-$((limit / 4)) $((limit * 4)) $((limit * 16))}; do
            echo "OMPI_MCA_btl_${transport}_eager_limit=$value"
        done | awk '!seen[$0]++' >"$scratch/settings"
        ;;
    ucx)
        for value in auto ${limits_wanted:-2048 8192 65536}; do echo "UCX_RNDV_THRESH=$value"; done >"$scratch/settings"
        ;;
    *) die 2 '--arms eager: neither ob1 nor ucx of Open MPI carries messages here, and of no other it is known how its limit is set' ;;
    esac
}

# find_mapping: of the ways to place ranks those that differ on these nodes
find_mapping() {
    n_looks_taken=0 same=''
    if [ "$starts_with" = srun ]; then
        ways='SLURM_DISTRIBUTION=block:block SLURM_DISTRIBUTION=block:cyclic SLURM_DISTRIBUTION=block:fcyclic'
        [ "$n_nodes" = 1 ] || ways="$ways SLURM_DISTRIBUTION=cyclic:block"
    else
        [ "$flavour" = openmpi ] || die 2 "--arms mapping: of Open MPI's mpirun and of srun it is known how ranks are placed, and not of this mpirun"
        ways='core socket numa socket,rank-by-core hwthread'
    fi
    for way in $ways; do
        mapping_words "$way"
        n_looks_taken=$((n_looks_taken + 1))
        # a machine without NUMA nodes refuses to map by them
        look "look-$n_looks_taken" "${words// /$newline}" || continue
        json_values "$scratch/look-$n_looks_taken.json" -- 'placement.*.host' 'placement.*.binding'
        place=$REPLY
        case $same in *"|$place|"*) continue ;; esac
        same="$same|$place|"
        printf '%s\n' "$words" >>"$scratch/settings"
    done
    [ "$(wc -l <"$scratch/settings")" -gt 1 ] ||
        die 0 "--arms mapping: $n_ranks ranks are on the same CPUs whichever way they are mapped here (core, socket, NUMA node, hardware thread): nothing is measured"
}

# mapping_words WAY: sets words: by Open MPI 4 and 5; one of srun is a word as it is
mapping_words() {
    local by=${1%%,*} bind=core
    words=$1
    [[ $1 != SLURM_* ]] || return 0
    [ "$1" != hwthread ] || bind=hwthread
    words="OMPI_MCA_rmaps_base_mapping_policy=$by OMPI_MCA_hwloc_base_binding_policy=$bind"
    words="$words PRTE_MCA_rmaps_default_mapping_policy=${by/socket/package} PRTE_MCA_hwloc_default_binding_policy=$bind"
    case $1 in *,rank-by-core) words="$words OMPI_MCA_rmaps_base_ranking_policy=core PRTE_MCA_rmaps_default_ranking_policy=fill" ;; esac
}

# plan_settings WORDS: sets of launches, one for each setting
plan_settings() {
    find_settings
    local settings
    mapfile -t settings <"$scratch/settings"
    n_arms=${#settings[@]}
    n_launches=$((launches * n_arms))
    each_s=$((seconds / n_launches - start_s))
    [ "$each_s" -ge 1 ] || die 2 "--seconds: $seconds is too short for $launches sets of $n_arms launches: at least $((n_launches * (start_s + 1)))"
    schedule_notes="# arms: $compares$newline# reference: ${settings[0]}$schedule_notes"
    say_time "$((n_launches * (each_s + start_s)))"
    note "$launches sets of $n_arms launches in random order, $each_s s of measuring each: some $REPLY in all; seed $seed; into '$campaign'"
    shuffled "$seed" "$launches" "$(<"$scratch/settings")"
    while read -r set_number words; do
        # shellcheck disable=SC2086 # words
        row "$set_number" - "$ranks_planned" ${words:+--with=${words// / --with=}} "$@" --noise-nodes first \
            --on "rank:$(((seed + set_number) % (n_ranks / n_set_nodes)))" --seconds "${each_s}s" --seed "$((seed + row_number + 1))"
    done < <(printf '%s\n' "${shuffled[@]}")
}
