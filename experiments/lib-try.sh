#!/bin/bash
# lib-try.sh BIN FOLDER: starts two ranks as an experiment would, which compare their clocks; the status is theirs. noiselab-doctor asks with it whether
# the launcher and the MPI library fit each other. FOLDER is for what they may write.
set -u
NOISELAB_BIN=$1 NOISELAB_LIBEXEC=${0%/*}
# shellcheck source=experiments/lib.sh
. "$NOISELAB_LIBEXEC/lib.sh"

# shellcheck disable=SC2034 # read by the parts
experiment=doctor campaign=$2 launcher='' hosts='' sets_of_nodes=(-) program=noiselab-detect
end_on_signals
choose_launcher
find_cpus
catch_signals
ranks=2
[ "$cores" -ge 2 ] || ranks=1
one_launch noiselab-doctor - "$ranks" --sync-only --out "$2"
exit "$status"
