#!/bin/sh
# words.sh BUILD WORDS.TSV: every command, option, operation and word there is, from the programs' own tables,
# on stdout: lines "program<TAB>type<TAB>name<TAB>value<TAB>help", - where there is no value. `noiselab help`
# and the completion of shells read them.
set -eu
bin=$1/bin

# of PROGRAM [WORDS]: its lines, with the program before them
of() {
    lines=$("$bin/$1" ${2+"$2"} --list-tables)
    [ -n "$lines" ] || {
        echo "words.sh: $* --list-tables prints nothing" >&2
        return 2
    }
    printf '%s\n' "$lines" | awk -v program="$*" 'BEGIN { OFS = "\t" } { print program, $0 }'
}

of noiselab
of noiselab-run
for experiment in $("$bin/noiselab-run" --list-tables | cut -f 2); do of noiselab-run "$experiment"; done
for program in noiselab-detect noiselab-accept noiselab-gen noiselab-agent noiselab-record noiselab-top \
    noiselab-profile noiselab-doctor noiselab-node-health \
    noiselab-analyze noiselab-report noiselab-plan noiselab-project noiselab-plot noiselab-compare; do
    of "$program"
done
awk 'BEGIN { OFS = "\t" } { print "noiselab", $0 }' "$2"
