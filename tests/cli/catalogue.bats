#!/usr/bin/env bats
# The catalogue of what agents cost: its page is what its rows make, runs are joined where they overlap, and
# there is no row without a placebo.

load ../helpers

setup() {
    ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
    cd "$BATS_TEST_TMPDIR" || return
    command -v Rscript >/dev/null || skip "no R"
    Rscript -e 'quit(status = !requireNamespace("ggplot2", quietly = TRUE))' || skip "no ggplot2"
}

# page ROWS: made of them
page() { Rscript "$ROOT/tests/bench/catalogue.R" "$1" agents.md agents.png; }

# rows AGENT,LOW,HIGH...: a file of rows like those that are kept
rows() {
    local row agent low high
    grep -E '^(#|agent,)' "$ROOT/docs/evidence/agents.csv"
    for row; do
        IFS=, read -r agent low high <<<"$row"
        printf '%s,' "$agent" 1.0 'as it is' 1 yes 0.5 700 '' 0 $(((low + high) / 2)) "$low" "$high" bursts \
            detected 0.1 2 3 1 '' 0.25 $((50 * high)) $((40 * high)) $((60 * high)) 5 4 6 '' 60 2 here abc v1
        echo 2026-01-02T03:04:05Z
    done
}

@test "the page of the catalogue is what its rows make" {
    cp "$ROOT/docs/agents.md" agents.md
    page "$ROOT/docs/evidence/agents.csv"
    diff "$ROOT/docs/agents.md" agents.md
    [ "$(head -c 4 agents.png)" = "$(printf '\x89PNG')" ]
}

@test "runs that overlap are one line with the outermost ends, and runs that do not stand apart and say so" {
    cp "$ROOT/docs/agents.md" agents.md
    rows a,1,3 a,2,4 b,1,2 b,5,6 c,7,8 >rows.csv
    page rows.csv
    [ "$(grep -c '^| a ' agents.md)" -eq 1 ]
    grep -E '^\| a .*\| 2\.5 \(1 to 4\) \|.*\| 2 \|$' agents.md
    [ "$(grep -c '^| b .*their intervals do not overlap' agents.md)" -eq 2 ]
    # what costs most at scale comes first
    [ "$(grep -oE '^\| [abc] ' agents.md | paste -sd '')" = '| c | b | a | b ' ]
}

@test "an agent gets no row without a placebo of this machine in which nothing was found" {
    local kept=build/catalogue/top-1-x
    mkdir -p tests/bench docs/evidence "$kept/campaign"
    cp "$ROOT"/tests/bench/catalogue.* tests/bench/ && cp "$ROOT/tests/evidence-row.sh" tests/
    printf '%s\n' top 1 batch 1 no 60 >$kept/what
    MACHINE=here run tests/bench/catalogue.sh --rows
    [ "$status" -eq 1 ]
    [[ "$output" == *"top: no row: no placebo of 'here' within a day that was not found"* ]]
    [ ! -e docs/evidence/agents.csv ] && [ ! -e $kept/row ]
    MACHINE=here run tests/bench/catalogue.sh nobody
    [ "$status" -eq 1 ]
    [[ "$output" == *"there is no agent 'nobody'"* ]]
}

@test "every agent is listed, and one whose package is not installed is refused by its name" {
    mkdir -p tests/bench
    cp "$ROOT"/tests/bench/catalogue.* tests/bench/ && cp "$ROOT/tests/evidence-row.sh" tests/
    run tests/bench/catalogue.sh --list
    [ "$status" -eq 0 ]
    for name in placebo collectd node_exporter netdata sadc cadvisor slurm_accounting noiselab_top; do
        grep -qE "^$name +[0-9]+ s  ." <<<"$output"
    done
    # a system on which no package is installed
    mkdir bin && printf '#!/bin/sh\nexit 1\n' >bin/dpkg-query && chmod 755 bin/dpkg-query
    for name in top cadvisor slurm_accounting@1; do
        PATH=$PWD/bin:$PATH run tests/bench/catalogue.sh --measure "$name"
        [ "$status" -eq 1 ]
        [ "$output" = "catalogue.sh: ${name%@*}: its package is not installed" ]
    done
    [ -z "$(ls build/catalogue)" ]
}
