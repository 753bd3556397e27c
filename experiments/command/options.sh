#!/bin/sh
# options.sh BUILD PAGE: the page of commands, with the --help of each below it, as Markdown
set -eu
PATH=$1/bin:$PATH
cat "$2"

# help_of [COMMAND]
help_of() {
    printf '\n## noiselab%s\n\n```\n' "${*:+ $*}"
    noiselab "$@" --help
    printf '```\n'
}

help_of
help_of run
awk -F '\t' '$1 == "noiselab-run" && $2 == "experiment" { print $3 }' "$1/share/noiselab/words.tsv" |
    while read -r experiment; do help_of run "$experiment" </dev/null; done
for command in detect accept gen record profile agent analyze report plot plan project compare node-health \
    doctor; do
    help_of "$command"
done
