#!/bin/sh
# options.sh BUILD PAGE: the page of commands, with the --help of each below it, as Markdown
set -eu
PATH=$1/bin:$PATH
cat "$2"
for command in '' run 'run sensitivity' 'run agent' 'run acceptance' 'run advise' 'run stability' 'run reproducibility' detect accept gen record profile agent \
    analyze report plot plan project compare node-health doctor; do
    printf '\n## noiselab%s\n\n```\n' "${command:+ $command}"
    # shellcheck disable=SC2086 # two words
    noiselab $command --help
    printf '```\n'
done
