#!/bin/sh
# noiselab-analyze and the other programs of the R package: starts the front end of the same name in the
# installed package.
name=${0##*/} here=$0
if [ -L "$0" ] || [ "${0#*/}" = "$0" ]; then here=$(readlink -f "$0"); fi
here=$(cd -P "${here%/*}" && pwd -P)
NOISELAB_R_LIB=${here%/bin}/lib/noiselab/R
export NOISELAB_R_LIB
script=$NOISELAB_R_LIB/noiselab/exec/noiselab.R
if ! command -v Rscript >/dev/null; then
    printf '%s: R is not in PATH: run it where R is (files are all it needs), or install R with ggplot2\n' \
        "$name" >&2
    exit 2
fi
if [ ! -r "$script" ]; then
    printf "%s: the R package is not at '%s': run make, or make install, again\n" "$name" \
        "$NOISELAB_R_LIB" >&2
    exit 2
fi
# the package is compiled already: what R would compile while it runs takes longer than it saves
R_ENABLE_JIT=${R_ENABLE_JIT-0}
export R_ENABLE_JIT
# a user's choice of what R attaches is of the user's own work: ours asks for what R has by default
unset R_DEFAULT_PACKAGES R_SCRIPT_DEFAULT_PACKAGES
exec Rscript --vanilla "$script" "$name" "$@"
