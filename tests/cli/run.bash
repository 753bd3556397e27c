# What the tests of noiselab run share.

load detect

# planned: the launches of the schedule
planned() { sed '1,/^launch\t/d' "$OUT/schedule.tsv" | cut -f 1; }

# slurm_stub NAME LINES: a command of a Slurm that is not there
slurm_stub() {
    mkdir -p "$BATS_TEST_TMPDIR/slurm"
    { echo '#!/bin/sh' && cat; } >"$BATS_TEST_TMPDIR/slurm/$1"
    chmod +x "$BATS_TEST_TMPDIR/slurm/$1"
    PATH=$BATS_TEST_TMPDIR/slurm:$PATH
}

# path_without FOLDER NAME...: a PATH with everything that this one has in /bin and /usr/bin, but for these;
# made in FOLDER
path_without() {
    mkdir -p "$1"
    ln -sf /bin/* /usr/bin/* "$1/"
    (cd "$1" && rm -f -- "${@:2}")
    echo "$1"
}
