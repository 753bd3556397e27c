#!/bin/sh
# names.sh [BUILD]: what 1.x keeps of the command line (docs/reference/promises.md), as tests/kept/names.tsv has it: lines "type<TAB>name<TAB>value<TAB>programs"
# of every option, command and row of a table, after one with the version.
# names.sh --json [BUILD]: the keys of the JSON of commands that work on a kept campaign, or on none, as tests/kept/keys.txt has them: lines "command: key".
set -eu
here=$(cd "$(dirname "$0")" && pwd)
keys=''
if [ "${1-}" = --json ]; then keys=1 && shift; fi
build=${1:-${NOISELAB_BUILD:-build}}

names() {
    sed -n 's/^#define NOISELAB_VERSION "\(.*\)"/# \1/p' "$here/../../common/base/version.h"
    awk -F '\t' 'BEGIN { OFS = "\t" } { sub(/\[:NAME=VALUE,\.\.\.\]$/, "", $4) } $2 != "word" && $2 != "group" && !(($2, $3, $4, $1) in seen) {
        seen[$2, $3, $4, $1]
        key = $2 OFS $3 OFS $4
        programs[key] = programs[key] (programs[key] == "" ? "" : ", ") $1
    }
    END { for (key in programs) print key, programs[key] }' "$build/share/noiselab/words.tsv" | LC_ALL=C sort
}

# keys_of COMMAND: names of the members of objects, of arrays those of what is in them
keys_of() {
    # shellcheck disable=SC2086 # words
    { "$build/bin/noiselab" $1 --json || [ $? = 3 ] || [ $? = 1 ]; } |
        jq -r --arg command "${1%% -*}" '[paths | map(select(type == "string")) | join(".")] | unique | .[] | select(. != "") | "\($command): \(.)"' | sed "s| $here/[^:]*||"
}

if [ -z "$keys" ]; then
    names
else
    campaign=$here/1.0.0/campaign
    for command in "analyze $campaign" "analyze nodes $campaign" "plan --detect 1 --ranks 2" "project $campaign --nodes 10 --every 1ms" doctor; do
        keys_of "$command"
    done | LC_ALL=C sort -u
fi
