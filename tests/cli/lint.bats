#!/usr/bin/env bats
# Lint names what was forgotten: in a copy of the sources one step is left out of each of several tasks of the
# guide to extending, and a line has to say each. What needs objects to be built (an operation, kind or check
# that is in no table) is not tried here.

load ../helpers

# left_out FILE PATTERN TEXT: TEXT in place of what matches, which has to be there
left_out() {
    grep -qE -e "$2" "$1"
    sed -i -E "s~$2~$3~g" "$1"
}

@test "lint has a line for each step that was forgotten" {
    local tree=$BATS_FILE_TMPDIR/tree line missing=''
    cd "$BATS_TEST_DIRNAME/../.."
    [ -z "${NOISELAB_INSTALLED-}" ] && [ -e "${NOISELAB_BUILD:-build}/share/noiselab/words.tsv" ] ||
        skip 'lint looks at sources, and at what was built of them'
    mkdir "$tree"
    { git ls-files 2>/dev/null | grep . || find . -type f -not -path './build*'; } |
        tar -cf - -T - 2>/dev/null | tar -xf - -C "$tree"
    ln -s "$(realpath "${NOISELAB_BUILD:-build}")" "$tree/build"
    cd "$tree"
    # an operation, a kind, a check, a channel: its test, its rows, its page
    left_out tests/unit/noisegen/kinds/test_kinds.c '"wakeup"' '"w"'
    grep -rl '"arrival"' analysis/tests/testthat | xargs sed -i 's/"arrival"/"a"/g'
    sed -i 's/\btopology\b/t/g' tests/cli/accept.bats tests/truth/accept.bats
    left_out analysis/R/acceptance-measures.R 'measure\("quantum"' 'measure("q"'
    printf 'new_ns\tcount?\td\tall->wall_ns\t-\tnew\ta new column\n' >>common/contract/halves.table
    # experiments: script, row, class, analysis
    rm experiments/stability.sbatch experiments/noiselab_run/sensitivity.py
    left_out common/contract/experiments.table '^advise	.*' ''
    left_out experiments/noiselab_run/reproducibility.py "ANALYSIS = 'reproducibility'" "ANALYSIS = 'other'"
    # rooms, headers, and what the guide says
    mv tests/unit/common/base/test_words.c tests/unit/detector/ops/
    rm noisegen/machine.h
    left_out docs/guides/extending.md '`nd_ops` in' '`nd_oops` in'
    left_out detector/design/schedule.c '^#include "detector/design/schedule.h"' \
        '&\n#include "detector/ops/ops.h"'
    run env -u NOISELAB_TESTS NOISELAB_BUILD=build tests/lint.sh
    [ "$status" -eq 1 ]
    for line in 'kind wakeup (in tests/unit/noisegen/kinds)' 'channel arrival (in analysis/tests/testthat)' \
        'check topology (in tests/cli/accept.bats' \
        'no row of analysis/R/acceptance-measures.R is of: quantum' '| `new_ns` | a new column |' \
        'stability of experiments.table has no experiments/stability.sbatch' \
        'sensitivity of experiments.table has no experiments/noiselab_run/sensitivity.py' \
        'advise (experiments/noiselab_run) is not in experiments.table' \
        'other (ANALYSIS in experiments/noiselab_run) is no analysis: word_other() is not in analysis/R' \
        'tests/unit/detector/ops/test_words.c: its source is in common/base' \
        'noisegen/machine.c: there is no noisegen/machine.h' 'nd_oops in detector/ops/op_collectives.c' \
        'detector/design/schedule.c: detector/ops/ops.h is of no room that it uses'; do
        grep -qF -- "$line" <<<"$output" || missing="$missing; $line"
    done
    [ -z "$missing" ] || { echo "no line says: $missing" && false; }
}
