#!/bin/sh
# census.sh: how much there is to carry, a line each: lines (and those of them that are rows of evidence or of
# a kept campaign, which nobody writes) and files that git keeps, options, plots, R functions. An option
# counts once for each command; what `noiselab run` hands on to a program (detect, gen, agent, accept) counts
# there.
set -eu
cd "$(dirname "$0")/.."
build=${NOISELAB_BUILD:-build}

# what is not committed yet counts, what is deleted does not
files() { { git_here --cached --others --exclude-standard; git_here --deleted; } | sort | uniq -u; }
git_here() { git -c safe.directory='*' ls-files "$@"; }

lines() { xargs grep -Ic '' | awk -F : '{ n += $NF } END { print n }'; }

printf '%-12s %s\n' \
    lines "$(files | lines)" \
    'of them data' "$(files | grep -E '^(docs/evidence|tests/kept/[0-9])' | lines)" \
    files "$(files | wc -l)" \
    options "$(awk -F '\t' '
        $2 == "option" {
            sub(/ .*/, "", $1); if (!(($1, $3) in seen)) { seen[$1, $3]; command[++n] = $1; option[n] = $3 } }
        END { for (i = 1; i <= n; i++) if (command[i] != "noiselab-run" || !is_theirs(option[i])) sum++;
            print sum }
        function is_theirs(o) { return ("noiselab-detect", o) in seen || ("noiselab-gen", o) in seen ||
            ("noiselab-agent", o) in seen || ("noiselab-accept", o) in seen }
        ' "$build/share/noiselab/words.tsv")" \
    plots "$(awk -F '\t' '$2 == "plot"' "$build/share/noiselab/words.tsv" | wc -l)" \
    'R functions' "$(cat analysis/R/*.R | grep -c '^[^ #]* <- function(')"
