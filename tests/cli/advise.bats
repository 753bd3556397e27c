#!/usr/bin/env bats
# Algorithms of the MPI library as arms of a launch, and noiselab run advise. Real Open MPI; which algorithm
# is the fastest is the machine's business.

load detect
load ../rules

setup() {
    at_home
    export NOISELAB_R_LIB=$BUILD/lib/noiselab/R
    # most launches have more ranks than there are CPUs
    take_turns
    "$BIN/noiselab-detect" --list algorithms >algorithms 2>/dev/null ||
        skip "this MPI library lets nobody choose algorithms"
    grep -q two_proc algorithms || skip "not Open MPI: tests/matrix/library.bats"
}

# detect STATUS RANKS WORD...: into c
detect() {
    rm -rf c
    local launcher=("$MPIRUN_COMMAND" --oversubscribe -n "$2")
    # one rank needs no launcher, which takes a second
    [ "$2" -gt 1 ] || launcher=()
    run "-$1" --separate-stderr "${launcher[@]}" "$BIN/noiselab-detect" --oversubscribe --levels none \
        --design single --seconds 0.1s --warmup 0s \
        --out c --progress off "${@:3}" 3>&-
}

@test "the library's algorithms are listed by its own names" {
    [ "$(head -n 1 algorithms)" = operation,algorithm ]
    grep -qx 'allreduce,recursive_doubling' algorithms
    grep -qx 'barrier,two_proc' algorithms
    ! grep -q ',ignore' algorithms
    [ "$(tail -n +2 algorithms | cut -d , -f 1 | sort | uniq -c | awk '$1 < 2' | wc -l)" -eq 0 ]
}

@test "an algorithm that the library replaces is said to be the other one" {
    # a size of its own, or those of the list
    local twice=allreduce=ring,allreduce=recursive_doubling
    detect 0 4 --op "allreduce=ring:8,allreduce=recursive_doubling:8B,$twice" --bytes 64KiB
    jq -e '(.options | .operations == ["allreduce=ring", "allreduce=recursive_doubling"] and
        .bytes == [8, 65536]) and
        ([.algorithms[] | select(.bytes == 8) | .in_fact] == ["recursive_doubling", "recursive_doubling"]) and
        ([.algorithms[] | select(.bytes == 65536) |
            .in_fact] == ["ring", "recursive_doubling"])' c/*/launch.json
    [[ $stderr = *"allreduce=ring of 8 B as recursive_doubling"* ]]
}

@test "what cannot be chosen is said in one line" {
    # one rank is told the same, without a launcher
    said() { detect 2 1 --op "$1" && [[ $stderr = *"$2"* ]]; }
    said barrier=nonsense \
        "barrier has no algorithm 'nonsense' in this MPI library (it has linear, double_ring"
    said barrier=two_proc 'barrier=two_proc does not work on 1 ranks'
    said ibarrier=linear 'ibarrier is none'
    for word in barrier= barrier=Tree 'barrier=a b' "barrier=$(printf '%040d' 1)"; do
        said "$word" 'is not an operation and an algorithm of it'
    done
    said barrier=tree,barrier=tree 'stands twice'
    said barrier=tree:8 "'barrier=tree:8': barrier has no message size"
    said allreduce: "--op: '' is not a size"
    OMPI_MCA_coll_tuned_use_dynamic_rules=0 said barrier=linear 'coll_tuned_use_dynamic_rules is off'
    for components in ^tuned basic,libnbc,sm,self; do
        OMPI_MCA_coll=$components said barrier=linear 'lets nobody choose the algorithm of barrier'
    done
}

# advise STATUS WORD...: noiselab run advise, into c
advise() {
    rm -rf c
    run --separate-stderr "$BIN/noiselab" run advise --out c --no-report "${@:2}" 3>&-
    [[ " $1 " = *" $status "* ]]
}

@test "run advise refuses what it cannot compare" {
    needs_cpus 2
    for words in "--launches 3" "--seconds 10" "--level 0" "--ranks 1" "--levels 1" "--op barrier=tree" \
        "--op ibarrier" "--design blocks" "--verify 2" "--profile none" "--op barrier -- true" "--arms both" \
        "--arms eager:x" "--arms eager --arrival none"; do
        advise 2 $words
        [ "$(wc -l <<<"$stderr")" -eq 1 ]
        [ ! -e c ]
    done
    # what the library has is counted once: 4 sets of 2 launches of 3 s
    advise 2 --arms eager:16KiB --launches 4 --seconds 12
    [[ $stderr = *"--seconds: 12 is too short for 4 sets of 2 launches: at least 24" ]]
    [ ! -e c ]
}

@test "run advise compares a program's algorithms, tries its advice, and writes no rule that does not act" {
    needs_cpus 2
    advise '0 3' --seconds 16 --warmup 0s --launches 4 --verify 2 -- "$MPIRUN_COMMAND" --oversubscribe -n 2 \
        "$BUILD/tests-mpi/late_probe" 500 50
    [[ $output = *"The program takes "*" in 1 operation of at"* ]]
    [[ $output = *"lost ns/ns"*allreduce* ]]
    jq -se 'all(.[]; .ranks == 2 and all(.algorithms[]; .operation == "allreduce" and .bytes == 8)) and
        (.[0].algorithms | length == 7)' c/*/launch.json
    grep -qx '# stages: 2,3,4' c/schedule.tsv
    [ "$(jq -r '.options.placements[]' c/*/launch.json | sort -u | wc -l)" -eq 2 ]
    "$BIN/noiselab" analyze advise --json c >json || [ $? -eq 3 ]
    jq -e '.rows | length == 2 and all(.[]; .verdict as $v | ["use", "keep", "undecided"] |
        index($v) != null)' json
    jq -e '.algorithms | length == 7 and all(.[]; .quiet_ns > 0)' json
    [[ $output = *"late ns/ns"* ]]
    jq -se 'all(.[]; .options.late.arrival == "trace")' c/*/launch.json
    grep -q '^# allreduce, ' c/advice.arrivals
    jq -e '.late == "trace" and all(.algorithms[]; .late_by_ns > 0 and .late_ns_per_ns != null) and
        any(.algorithms[]; .front)' json
    "$BIN/noiselab" analyze advise --all c | grep -q segmented_ring
    run -3 --separate-stderr "$BIN/noiselab" analyze advise \
        "$(dirname "$(ls -d c/*/launch.json | head -n 1)")"
    [[ $stderr = *"choosing and confirming take 4"* ]]
    # the analysis of a campaign of which one algorithm that is left in all stages takes a quarter of the time
    local fast
    fast=$(jq -r '.algorithms[].algorithm' "$(ls c/*/launch.json | tail -n 1)" |
        grep -m 1 -xE 'nonoverlapping|basic_linear|recursive_doubling')
    a_quarter "$fast" c/*/halves.csv
    run --separate-stderr "$BIN/noiselab" run advise --resume c --no-report 3>&-
    # the library's functions have no line between the words
    grep -x "with allreduce 8 2 default allreduce_intra_${fast/recursive_/recursive} 1" c/advice.tried
    [ "$(grep -c '^with allreduce 8 3 default' c/advice.tried)" -eq 1 ]
    [[ "$(head -n 1 c/advice.rules)" = *"holds for Open MPI v"*"; each rule was tried and acts" ]]
    # calls times 3 us, and two pairs of runs beside it
    "$BIN/noiselab" analyze advise --json c |
        jq -e '.gain.advised == 1 and .gain.percent > 0 and .verified.pairs == 2'
    [[ "$(tr -s '\n ' ' ' <<<"$output")" = *"Predicted with the rules: "*" 2 pairs of runs: "* ]]
}

# first_set_is_all: the launches of the first set are run, and those of the others copied from them, a little
# slower each
first_set_is_all() {
    local set=0 launch copied words
    "$BIN/noiselab" run advise --resume c --only 1 3>&-
    grep -P '\t--with=' c/schedule.tsv | while IFS=$'\t' read -r launch _ words; do
        words=$(grep -o -- '--with=[^[:blank:]]*' <<<"$words")
        if [ -e "c/$launch" ]; then echo "$words $launch" >>first && continue; fi
        copied=$(sed -n "s/^$words //p" first)
        cp -r "c/$copied" "c/$launch"
        LC_ALL=C sed -i "s/$copied/$launch/g" "c/$launch"/*
        awk -F , -v OFS=, -v n="$((set += 1))" \
            'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i } NR > 1 {
            $at["wall_ns"] += int($at["wall_ns"] * n / 1000) } 1' \
            "c/$copied/halves.csv" | sed "s/$copied/$launch/" >"c/$launch/halves.csv"
    done
}

@test "run advise finds the eager limit, and that it moves with it, from launches in random order" {
    needs_cpus 2
    # where the step is takes more sizes and a machine of one's own
    local sizes=1920,3840,4352,8704
    [ "${NOISELAB_TESTS-}" != long ] || sizes=1088,1920,2176,3840,4352,7680,8704,12032
    # planned by a launcher that starts the first look, and nothing else
    printf '#!/bin/sh\ncase $* in *--launch-id\\ 2*) exit 1 ;; esac\nexec %s "$@"\n' "$MPIRUN_COMMAND" >mpirun
    chmod +x mpirun
    NOISELAB_MPIRUN=$PWD/mpirun advise 2 --arms eager:16KiB --bytes "$sizes" --launches 4 --seconds 24 \
        --warmup 0s --half-period 5ms --seed 3
    [ "${NOISELAB_TESTS-}" = long ] || first_set_is_all
    run --separate-stderr "$BIN/noiselab" run advise --resume c --no-report 3>&-
    [[ $status = [03] ]]
    grep -qx '# arms: eager' c/schedule.tsv
    [ "$(grep -cE "	--with=OMPI_MCA_btl_vader_eager_limit=(4096|16384)	" c/schedule.tsv)" -eq 8 ]
    # what the library says is in use, and not what was asked for
    jq -se '[.[].mpi.parameters.btl_vader_eager_limit] |
        sort == [4096, 4096, 4096, 4096, 16384, 16384, 16384, 16384]' c/*/launch.json
    [[ $output = *"memory per rank"*"2 MiB (512 x 1)"*"8 MiB (512 x 1)"* ]]
    [ "$(wc -l <<<"$output")" -le 24 ]
    "$BIN/noiselab" analyze advise --alpha 0.2 --json c >json || [ $? -eq 3 ]
    jq -e '.compares == "eager" and (.first_screen | length) > 0 and all(.settings[]; .in_use) and
        ([.rows[] | select(.condition == "quiet")] |
            length == '"$(($(tr -cd , <<<"$sizes" | wc -c) + 2))"')' json
    [ "${NOISELAB_TESTS-}" != long ] ||
        judge jq -e '[.steps[] | select(.setting == "default") | .from_bytes, .to_bytes] == [3840, 4352] and
        all(.steps[]; .setting == "default" or .from_bytes != 3840)' json
    # a library that did not take a setting: it is not advised
    sed -i 's/=16384/=32768/' c/schedule.tsv
    "$BIN/noiselab" analyze advise --json c >json || [ $? -eq 3 ]
    jq -e '[.settings[] | select(.setting != "default") | .in_use] == [false] and .verdict != "use"' json
}

@test "run advise measures no mapping where all ways place ranks alike" {
    needs_cpus 2
    [ "$("$BIN/noiselab-gen" --list cpus | cut -d ' ' -f 2)" -eq 2 ] ||
        skip 'more than two cores: mappings may differ'
    advise 0 --arms mapping --ranks 2
    [[ $stderr = *"on the same CPUs whichever way they are mapped"* ]]
    [ ! -e c ]
}

# A rule acts at exactly its size (or, where ranks' shares differ by an element, about there), and at its
# number of ranks
@test "each rule that is written acts at its size and at no other, and what has no size gets none" {
    write_rules rules 2>err || { cat err; return 1; }
    export OMPI_MCA_coll_tuned_use_dynamic_rules=1 OMPI_MCA_coll_tuned_dynamic_rules_filename=$PWD/rules
    "$MPIRUN_COMMAND" --oversubscribe -n 4 "$BUILD/libexec/noiselab/noiselab-rules" --out ran \
        --ranks 4 $(rule_words 960 1024 1088)
    ! grep -q ' - 1$' ran || skip 'this Open MPI has its algorithms where nobody can watch them'
    rules_act ran 1
}
