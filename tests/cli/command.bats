#!/usr/bin/env bats
# The command noiselab: help, slips, what a machine permits, completion; and that its scripts read data, not
# prose.

load run

WORDS() { cat "${BIN%/bin}/share/noiselab/words.tsv"; }

# ---- help

# bats test_tags=quick
@test "the help has as many experiments as fit into its line" {
    cp -r "$BATS_TEST_DIRNAME/../../common/contract" "$BATS_TEST_TMPDIR/contract"
    filled() { echo @EXPERIMENTS@ >in && sh contract/fill.sh in; }
    cd "$BATS_TEST_TMPDIR"
    all=$(filled)
    printf 'endurance\t0\tRANKS\nanother\t0\tRANKS\n' >>contract/experiments.table
    more=$(filled)
    [[ "$more" == sensitivity,*', ...' && "${all%, ...}" == "${more%, ...}"* && "${#more}" -le 79 ]]
}

@test "help is one screen that begins with the three recipes; its commands are the programs" {
    "$BIN/noiselab" --help >"$BATS_TEST_TMPDIR/help"
    awk 'length > 100 || NR > 24 { exit 1 }' "$BATS_TEST_TMPDIR/help"
    for question in 'What does this agent cost?' 'Is this cluster quiet?' 'How sensitive is this machine?'; do
        head -n 6 "$BATS_TEST_TMPDIR/help" | grep -qF "$question"
    done
    "$BIN/noiselab" | cmp - "$BATS_TEST_TMPDIR/help"
    "$BIN/noiselab" help | cmp - "$BATS_TEST_TMPDIR/help"
    "$BIN/noiselab" --list-tables | cut -f 2 | sort >"$BATS_TEST_TMPDIR/commands"
    while read -r name; do "$BIN/noiselab" --help | grep -q "^  $name "; done <"$BATS_TEST_TMPDIR/commands"
    printf '%s\n' "$BIN"/noiselab-* | sed 's/.*noiselab-//' | sort | diff "$BATS_TEST_TMPDIR/commands" -
}

@test "help explains commands, experiments, operations, kinds, channels, options, verdicts and words" {
    explains() {
        run "$BIN/noiselab" help "$1"
        echo "$output"
        [ "$status" -eq 0 ]
        [[ "$output" == *"$2"* ]]
    }
    explains doctor '(command): '
    explains sensitivity 'see noiselab run sensitivity --help'
    explains allreduce 'allreduce (operation): '
    explains inconclusive '(verdict): '
    explains detection\ limit '(word): '
    explains --margin 'noiselab analyze --help'
    for meaning in command experiment analysis; do explains agent "($meaning): "; done
}

# What the answers of all experiments print, in a sentence, a heading or a legend.
@test "help explains the words that first screens print" {
    for word in 'at least' alpha burst certificate 'detected alone' detour duty hypervisor interval level \
        limit margin \
        node noise 'not detected' one-sided 'other effects' pair period placebo power preempted projection \
        rank reference scope self-check \
        slowdown steal 'synchronisation interval' unaccounted undecided unit; do
        run "$BIN/noiselab" help $word
        echo "$word: $output"
        [ "$status" -eq 0 ]
    done
}

@test "every row of every table can be explained" {
    WORDS | cut -f 3 | sort -u >"$BATS_TEST_TMPDIR/words"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/words")" -gt 200 ]
    [ -z "$(WORDS | awk -F '\t' 'NF != 5 || $5 == ""')" ]
}

# ---- slips

# meant WANTED COMMAND...: one line on stderr that asks whether WANTED was meant
meant() { run_refused "did you mean $1?" "${@:2}" 2>"$ERR"; }

# bats test_tags=quick
@test "a slip in a command, experiment, word, option, operation, kind or check names what was meant" {
    meant analyze "$BIN/noiselab" anlyze
    meant sensitivity "$BIN/noiselab" run sensitvity
    meant allreduce "$BIN/noiselab" help allredcue
    run -2 --separate-stderr "$BIN/noiselab" xyzzy
    [[ "$stderr" != *'did you mean'* ]]
    meant --seconds "$DETECT" --secnds 5
    meant --level "$BIN/noiselab-gen" --lvel 1
    meant --compare-replay "$BIN/noiselab" run agent --compare-reply
    meant --margin "$BIN/noiselab" analyze --margn 1 "$BATS_TEST_TMPDIR"
    meant agent "$BIN/noiselab" analyze agnet "$BATS_TEST_TMPDIR"
    # an option that lacks its value is told so, and an unambiguous beginning is taken
    run --separate-stderr "$DETECT" --seconds
    [[ "$stderr" == *'--seconds: needs a value (--seconds TIME)'* ]]
    "$BIN/noiselab" run sensitivity --dry-run --ranks 1 --op empty --half 10ms --levels 0,1 \
        --out "$OUT" >/dev/null
    meant allreduce "$DETECT" --op barrier,allredcue
    meant window "$DETECT" --starts windw
    meant procfs "$DETECT" --op empty --dry-run --kind prcfs
    meant latency "$BIN/noiselab-accept" --checks latncy
    meant time "$BIN/noiselab" analyze --channel tme "$BATS_TEST_TMPDIR"
}

# bats test_tags=quick
@test "a bare number is a time only where the option's name says the unit" {
    bare() {
        run -2 --separate-stderr "$@"
        [[ "$stderr" == *"'10' is not"*'unit'* ]]
    }
    bare "$DETECT" --design blocks --block 10
    bare "$DETECT" --warmup 0 --starts window:slot=10
    bare "$BIN/noiselab-accept" --checks default:detour-threshold=10
    bare "$BIN/noiselab" run agent --agent-cmd 'sleep 9' --agent-period 10
    bare "$BIN/noiselab" run agent --agent-cmd 'sleep @INTERVAL@' --sweep 1s,10
    bare "$BIN/noiselab" plan --detect 1 --half-period 10
    bare "$BIN/noiselab-node-health" --max-age 10
    "$DETECT" --dry-run --op empty --levels 0,1 --seconds 10 --warmup 0 --out "$OUT" >/dev/null
    "$DETECT" --dry-run --op empty --levels 0,1 --seconds 10s --out "$OUT" >/dev/null
}

@test "the template of limits has no line that holds" {
    "$BIN/noiselab" run acceptance --write-limits >"$BATS_TEST_TMPDIR/template"
    grep -q '^# *latency.half_round_trip.* <= ' "$BATS_TEST_TMPDIR/template"
    [ -z "$(grep -v '^#' "$BATS_TEST_TMPDIR/template" | grep .)" ]
}

# ---- data between programs

# other_programs: BIN becomes a folder with the same programs, and beside it what belongs to them; one of them
# can then be replaced
other_programs() {
    local real
    real=$(cd "$BIN/.." && pwd)
    mkdir -p "$BATS_TEST_TMPDIR/build/bin"
    ln -s "$real/libexec" "$real/share" "$real/lib" "$BATS_TEST_TMPDIR/build/"
    ln -s "$real"/bin/* "$BATS_TEST_TMPDIR/build/bin/"
    # these look for the others by their own place
    rm "$BATS_TEST_TMPDIR/build/bin/"{noiselab,noiselab-run}
    cp "$real/bin/"{noiselab,noiselab-run} "$BATS_TEST_TMPDIR/build/bin/"
    REAL=$real/bin
    BIN=$BATS_TEST_TMPDIR/build/bin
}

# without FILTER: noiselab-detect whose JSON went through this filter of jq
without() {
    rm -f "$BIN/noiselab-detect"
    printf '#!/bin/sh\ncase " $* " in *" --json "*) %s "$@" | jq -c '"'%s'"' ;; *) exec %s "$@" ;; esac\n' \
        "$REAL/noiselab-detect" "$1" "$REAL/noiselab-detect" >"$BIN/noiselab-detect"
    chmod +x "$BIN/noiselab-detect"
}

# bats test_tags=quick
@test "a dry run is one JSON object, with what its text says" {
    "$DETECT" --dry-run --json --op barrier,alltoall --bytes 8,1KiB --levels 0,1 --kind spin,procfs \
        --half-period 20ms --seconds 10 --seed 5 \
        --stop-when decided:looks=2 --margin 1 --out "$OUT" >"$BATS_TEST_TMPDIR/json"
    [ "$(wc -l <"$BATS_TEST_TMPDIR/json")" -eq 1 ]
    # three configurations under four arms are 24 halves of 20 ms
    [ "$(jq -c '[.schema, .design, .rounds, .halves_per_round, .half_ns, .measuring_ns, .noise_period_ns,
        .seed, .campaign, (.operations | length),
        (.treatments | length), .looks_after_rounds, .agent, .external, .arms]' "$BATS_TEST_TMPDIR/json")" = \
        "[1,\"lockin\",20,24,20000000,10000000000,10000000,\"5\",\"$OUT\",3,4,[10,20],null,null,\"both\"]" ]
    jq -e '.treatments[3] == {kind: "procfs", pattern: "periodic", placement: "last", phase: "random",
        level_percent: 1}' "$BATS_TEST_TMPDIR/json"
    "$BIN/noiselab-accept" --dry-run --json --checks latency,detour --seconds 20 --out "$OUT" |
        jq -e '.checks | length == 2'
    "$BIN/noiselab-agent" --dry-run --json --agent-cmd 'sleep 9' |
        jq -e '.way == "command" and .freezer == null'
    for program in noiselab-detect noiselab-accept; do
        run_refused '--json: belongs to --dry-run' "$BIN/$program" --json 2>"$ERR"
    done
    "$BIN/noiselab" run sensitivity --dry-run --json --ranks 1 --op empty --levels 0,1 --seconds 1 \
        --out "$OUT" 2>/dev/null | jq -e '.design == "lockin"'
}

@test "a plan that lacks a field ends an experiment with status 70 and the field's name" {
    other_programs
    lost() {
        without "$2"
        run -70 --separate-stderr "$BIN/noiselab" run "${@:3}" --out "$OUT"
        [[ "$stderr" == *"there is no value '$1'"* ]]
        [ ! -e "$OUT" ]
    }
    lost rounds 'del(.rounds)' sensitivity --ranks 1 --op empty --levels 0,1 --seconds 1 --dry-run
    lost 'treatments.*.pattern' 'del(.treatments[0].pattern)' sensitivity --ranks 1 --op empty --levels 0,1 \
        --seconds 1
    lost halves_per_round '.halves = .halves_per_round | del(.halves_per_round)' sensitivity \
        --design launches --ranks 1 --op empty --levels 1 --seconds 9
    lost halves_per_round 'del(.halves_per_round)' agent --agent-cmd 'sleep 9' --agent-period 100ms \
        --ranks 1 --op empty
    without '"x"'
    run -70 --separate-stderr "$BIN/noiselab" run sensitivity --ranks 1 --op empty --levels 0,1 --seconds 1 \
        --out "$OUT"
}

@test "a launch.json that says its end elsewhere is taken for neither a complete nor a partial launch" {
    "$BIN/noiselab" run sensitivity --ranks 1 --op empty --levels none --design single --seconds 0.2 \
        --warmup 0s --out "$OUT" --no-report >/dev/null 2>"$ERR" 3>&- || true
    launch=$(echo "$OUT"/*-0001)
    jq '.agents = [{ended: "complete"}] | del(.ended)' "$launch/launch.json" >"$BATS_TEST_TMPDIR/other"
    cp "$BATS_TEST_TMPDIR/other" "$launch/launch.json"
    run -70 --separate-stderr "$BIN/noiselab" run sensitivity --resume "$OUT" --dry-run
    [[ "$stderr" == *"there is no value 'ended'"* ]]
    jq -c '.ended = "complete"' "$BATS_TEST_TMPDIR/other" >"$launch/launch.json"
    run --separate-stderr "$BIN/noiselab" run sensitivity --resume "$OUT" --dry-run
    [[ "$stderr" == *'1 of 1 planned launches are complete'* ]]
    # cut off while it was written: there is no end
    head -c 100 "$launch/launch.json" >"$BATS_TEST_TMPDIR/cut"
    cp "$BATS_TEST_TMPDIR/cut" "$launch/launch.json"
    run --separate-stderr "$BIN/noiselab" run sensitivity --resume "$OUT" --dry-run
    [[ "$stderr" == *'0 of 1 planned launches are complete'* ]]
}

# bats test_tags=quick
@test "the runner reads JSON in one place, and no text meant for people" {
    cd "$BATS_TEST_DIRNAME/../../experiments/noiselab_run"
    [ "$(grep -lE '^(import|from) json|import json' -- *.py)" = document.py ]
    # a key in quotes and its colon, in a pattern
    run -1 grep -nE "re\.[a-z]+\([^)]*\"[a-z_]+\": " -- *.py
    run -1 grep -nE "(shown|rehearsal\.shown)\.(split|index|find)|re\.[a-z]+\([^)]*\.shown" -- *.py
}

# ---- progress

@test "progress on a terminal is one line that is redrawn" {
    launch 1 --op empty --levels 0,5 --half-period 1ms --period 1ms --seconds 2.3 --warmup 0 \
        --progress terminal >/dev/null
    tr '\r' '\n' <"$ERR" | grep -qE 'noiselab-detect: [0-9]+ %, [0-9]+ s left'
    [ "$(tr '\r' '\n' <"$ERR" | grep -c 'noiselab-detect: .* left')" -ge 1 ]
    [ "$(grep -c ' left' "$ERR")" -eq 1 ]
    rm -rf "$OUT"
    refused "--progress: 'on' is not auto, terminal, lines or off" --progress on
}

# ---- completion

# completed WORDS...: what bash offers for the last word
completed() {
    local file=${BIN%/bin}/share/bash-completion/completions/noiselab
    bash --norc -c '. "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _noiselab
        printf "%s\n" "${COMPREPLY[@]}"' bash "$file" "$@"
}

# completes WANTED WORDS...: each of WANTED, which are separated by blanks, is offered for the last word
completes() {
    local wanted offered
    offered=$(completed "${@:2}")
    for wanted in $1; do grep -qxF -- "$wanted" <<<"$offered"; done
}

@test "bash completes commands, experiments, options and their values" {
    bash --norc -c '. "$1"; shift; for name; do complete -p "$name" || exit; done' \
        bash "${BIN%/bin}/share/bash-completion/completions/noiselab" \
        noiselab noiselab-detect noiselab-analyze
    completes 'doctor run help' noiselab ''
    completes 'sensitivity stability' noiselab run s
    completes '--launches --launch-id --launcher' noiselab run sensitivity --la
    completes allreduce noiselab detect --op allre
    completes barrier,allgather noiselab-detect --op barrier,allg
    completes reproducibility noiselab analyze rep
    completes allreduce noiselab help allred
    [ "$(completed noiselab an)" = analyze ]
    [ "$(completed noiselab-detect --half)" = --half-period ]
    [ "$(completed noiselab-detect --design = lo)" = lockin ]
    [ "$(completed noiselab-gen --kind pro)" = procfs ]
    [ -z "$(completed noiselab-detect --seconds '')" ]
    cd "$BATS_TEST_TMPDIR" && mkdir -p results && [ "$(completed noiselab report res)" = results ]
}

@test "completion knows every option of every program" {
    for program in "$BIN"/noiselab-*; do
        program=${program##*/}
        [ "$program" != noiselab-run ] || continue
        completed "$program" -- | sort >"$BATS_TEST_TMPDIR/offered"
        for option in $("$BIN/$program" --help | grep -oE '^ {1,8}(-h, )?--[a-z][a-z0-9-]*' |
            grep -oE -- '--[a-z0-9-]+' | sort -u); do
            grep -qxF -- "$option" "$BATS_TEST_TMPDIR/offered" || { echo "$program $option"; false; }
        done
    done
}

@test "what a program's --help says of an option stands in its column, within 79" {
    for program in detect accept gen agent record profile; do
        "$BIN/noiselab-$program" --help >"$BATS_TEST_TMPDIR/help"
        # behind the usage come options, their text, headings and lists: nothing but whole sentences begins at
        # the margin
        awk -v program="$program" '
            length > 79 || /^ {3,28}[^ -]/ && !is_below || /^ {29} / { print program ": " $0; bad = 1 }
            /^ [^ ].*:$/ || /^ +--/ { is_begun = 1 }
            is_begun && /^$/ { is_new = 1; next }
            is_begun && is_new && /^[^ ]/ { is_below = 1 }
            is_begun && !is_below && /^[^ ]/ { print program ": " $0; bad = 1 }
            { is_new = 0 }
            END { exit bad || !is_begun }' "$BATS_TEST_TMPDIR/help"
    done
    "$BIN/noiselab-gen" --help | grep -qx ' \+each other' # of the patterns' list, too
}

@test "zsh completes the same" {
    command -v zsh >/dev/null || skip 'zsh is not installed'
    file=${BIN%/bin}/share/zsh/site-functions/_noiselab
    zsh -n "$file"
    # as the completion system would call it, with a compadd that prints
    out=$(zsh -f -c '
        compadd() { shift $(( ${@[(i)--]} )); print -l -- "$@" };
        compset() { return 1 }; _files() { print files }
        complete_words() { words=("$@"); CURRENT=$#; source '"$file"' }
        complete_words noiselab run ""
        complete_words noiselab-detect --design ""')
    grep -qx sensitivity <<<"$out"
    grep -qx lockin <<<"$out"
}

@test "make dist makes an archive that builds without git, and its programs know their commit" {
    long_only
    root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    [ -e "$root/.git" ] || skip 'this is no clone'
    make -s -C "$root" BUILD="$BATS_TEST_TMPDIR" dist
    # of one commit it is always the same
    TZ=Asia/Tokyo make -s -C "$root" BUILD="$BATS_TEST_TMPDIR/again" dist
    cmp "$BATS_TEST_TMPDIR"/noiselab-*.tar.gz "$BATS_TEST_TMPDIR"/again/noiselab-*.tar.gz
    tar -x -z -C "$BATS_TEST_TMPDIR" -f "$BATS_TEST_TMPDIR"/noiselab-*.tar.gz
    cd "$BATS_TEST_TMPDIR"/noiselab-*/
    commit=$(git -C "$root" -c safe.directory='*' describe --always)
    [ "$(cat .commit)" = "$commit" ]
    # nothing of a repository around it is taken for its own
    make -s build/bin/noiselab-gen CFLAGS=-O0
    build/bin/noiselab-gen --version | grep -qF "$commit"
}

@test "a build folder keeps the compilers that it was made with, until others are named" {
    local root
    root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    # made WORD...: the compilers that make takes for a folder of this test
    made() {
        env -u MPICC "${@:2}" make -s -C "$root" --no-print-directory BUILD="$BATS_TEST_TMPDIR/b" $1 \
            "$BATS_TEST_TMPDIR/b/flags" && cut -d ' ' -f 1,2 "$BATS_TEST_TMPDIR/b/flags"
    }
    printf '#!/bin/sh\nexec mpicc "$@"\n' >"$BATS_TEST_TMPDIR/other-mpicc"
    chmod +x "$BATS_TEST_TMPDIR/other-mpicc"
    [ "$(made '')" = 'gcc mpicc' ]
    [ "$(made "CC=cc MPICC=$BATS_TEST_TMPDIR/other-mpicc")" = "cc $BATS_TEST_TMPDIR/other-mpicc" ]
    [ "$(made '')" = "cc $BATS_TEST_TMPDIR/other-mpicc" ]
    # by the environment, too
    [ "$(made '' MPICC=mpicc)" = 'cc mpicc' ]
    [ "$(made CC=gcc)" = 'gcc mpicc' ]
}

@test "make install puts completion, words and man pages into place, and uninstall takes them away" {
    root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    build=$(cd "$BIN/.." && pwd)
    made=$(cat "$build/flags")
    make -s -C "$root" BUILD="$build" DESTDIR="$BATS_TEST_TMPDIR/root" PREFIX=/usr install
    for file in bash-completion/completions/noiselab bash-completion/completions/noiselab-detect \
        zsh/site-functions/_noiselab \
        noiselab/words.tsv; do
        [ -s "$BATS_TEST_TMPDIR/root/usr/share/$file" ]
    done
    # what is built stays as it is, also where it was built for another library
    [ "$(cat "$build/flags")" = "$made" ]
    "$BATS_TEST_TMPDIR/root/usr/bin/noiselab" help allreduce | grep -q operation
    for page in "$root"/docs/man/*.1; do [ -s "$BATS_TEST_TMPDIR/root/usr/share/man/man1/${page##*/}" ]; done
    grep -qF '\-\-half\-period' "$BATS_TEST_TMPDIR/root/usr/share/man/man1/noiselab-detect.1"
    grep -qF '\-\-self\-check' "$BATS_TEST_TMPDIR/root/usr/share/man/man1/noiselab-run.1"
    make -s -C "$root" BUILD="$build" DESTDIR="$BATS_TEST_TMPDIR/root" PREFIX=/usr uninstall
    [ -z "$(find "$BATS_TEST_TMPDIR/root" ! -type d)" ]
}
