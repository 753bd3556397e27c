#!/bin/sh
# names.sh [BUILD]: what 1.x keeps of the command line (docs/reference/promises.md), as tests/kept/names.tsv
# has it: lines "type<TAB>name<TAB>value<TAB>programs" of every option, command and row of a table, after one
# with the version. names.sh --json [BUILD]: the keys of the JSON of commands that work on a kept campaign, or
# on none, lines "command: key" names.sh --by-key [BUILD]: the same as tests/kept/keys.tsv has them: lines
# "key<TAB>command:where, command:where", where an object or array of it, or nothing names.sh --kept: the
# lines "command: key" of that file
set -eu
here=$(cd "$(dirname "$0")" && pwd)
what=--names
case ${1-} in --*) what=$1 && shift ;; esac
build=${1:-${NOISELAB_BUILD:-build}}

names() {
    sed -n 's/^#define NOISELAB_VERSION "\(.*\)"/# \1/p' "$here/../../common/base/version.h"
    # the nonblocking and persistent form of an operation stand behind its blocking one
    awk -F '\t' 'BEGIN { OFS = "\t" } { sub(/\[:NAME=VALUE,\.\.\.\]$/, "", $4) } $2 != "word" &&
        $2 != "group" && !(($2, $3, $4, $1) in seen) {
        seen[$2, $3, $4, $1]
        if ($2 == "operation" && ($3 == "i" first || $3 == first "_init")) {
            forms[key] = forms[key] ", " $3; next }
        first = $3
        key = $2 OFS $3 OFS $4
        programs[key] = programs[key] (programs[key] == "" ? "" : ", ") $1
    }
    END { for (key in programs) {
        split(key, part, OFS); print part[1], part[2] forms[key], part[3],
            programs[key] } }' "$build/share/noiselab/words.tsv" | LC_ALL=C sort
}

# keys_of COMMAND: names of the members of objects, of arrays those of what is in them
keys_of() {
    # shellcheck disable=SC2086 # words
    { "$build/bin/noiselab" $1 --json || [ $? = 3 ] || [ $? = 1 ]; } |
        jq -r --arg command "${1%% -*}" \
        '[paths | map(select(type == "string")) | join(".")] | unique | .[] | select(. != "") |
        "\($command): \(.)"' | sed "s| $here/[^:]*||"
}

all_keys() {
    # the newest version's, which has all that can be kept
    newest=$(printf '%s\n' "$here"/*/campaign | sort -V | tail -n 1)
    newest=${newest%/campaign}
    campaign=$newest/campaign
    for command in "analyze $campaign" "analyze nodes $campaign" "plan --detect 1 --ranks 2" \
        "project $campaign --nodes 10 --every 1ms" doctor "doctor settings" "analyze agent $newest/agent" \
        "compare $newest/before.csv $newest/after.csv"; do
        keys_of "$command"
    done | LC_ALL=C sort -u
}

case $what in
--names) names ;;
--json) all_keys ;;
--by-key) all_keys | sed -E 's/^([^:]*): (.*\.)?([^.]*)$/\3\t\1:\2/; s/[.]$//' | LC_ALL=C sort |
    awk -F '\t' '{ printf "%s%s", ($1 == key ? ", " : (NR > 1 ? "\n" : "") $1 "\t"), $2; key = $1 } END {
    print "" }' ;;
--kept) awk -F '\t' '{
        n = split($2, places, ", ")
        for (i = 1; i <= n; i++) {
            split(places[i], at, ":"); print at[1] ": " (at[2] == "" ? "" : at[2] ".") $1 }
    }' "$here/keys.tsv" | LC_ALL=C sort ;;
esac
