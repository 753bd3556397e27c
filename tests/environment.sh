# What every suite starts with, read by suite.sh and run.sh: the programs under test, and nothing of the
# caller's that changes what they do. NOISELAB_INSTALLED=PREFIX: the programs and the R package that are
# installed there, instead of those of the build folder.
# shellcheck shell=sh

NOISELAB_BUILD=${NOISELAB_BUILD:-build}
# Tests find the programs in the build folder: then it is one of links, to what is installed and to what tests
# are made of.
if [ -n "${NOISELAB_INSTALLED-}" ]; then
    rm -rf "$NOISELAB_BUILD/installed"
    mkdir -p "$NOISELAB_BUILD/installed"
    ln -s "$NOISELAB_INSTALLED"/bin "$NOISELAB_INSTALLED"/lib "$NOISELAB_INSTALLED"/libexec \
        "$NOISELAB_INSTALLED"/share "$NOISELAB_BUILD/installed"
    for folder in bench tests-mpi fault fuzz-mutate; do ln -s "../$folder" "$NOISELAB_BUILD/installed"; done
    NOISELAB_BUILD=$NOISELAB_BUILD/installed
    # whoever starts a suite by itself has the folder now
    unset NOISELAB_INSTALLED
fi
# seen from the tree, wherever it is; tests look for it from there
case $NOISELAB_BUILD in
/*) NOISELAB_BUILD=$(realpath --relative-to=. "$NOISELAB_BUILD") ;;
esac
NOISELAB_BIN=$PWD/$NOISELAB_BUILD/bin NOISELAB_R=$PWD/$NOISELAB_BUILD/lib/noiselab/R
NOISELAB_TESTS=${NOISELAB_TESTS:-test}
export NOISELAB_BUILD NOISELAB_BIN NOISELAB_R NOISELAB_TESTS

# launchers and schedulers tell their children who they are; locales change numbers, MPI libraries and R what
# they do; what docs/reference says of NOISELAB_MPIRUN and NOISELAB_SRUN_MPI is meant for tests, too.
# The rows that somebody keeps (NOISELAB_EVIDENCE) are of the command that was called, not of what tests try.
for name in $(env | sed -n 's/^\([A-Za-z_][A-Za-z0-9_]*\)=.*/\1/p'); do
    case $name in
    SLURM_* | SBATCH_* | SALLOC_* | SRUN_* | PMI_* | PMIX_* | PALS_* | OMPI_* | PRTE_* | MPIR_* | \
        MPICH_* | UCX_* | HYDRA_* | OMP_* | LIKWID_* | R_* | LC_* | LANGUAGE | \
        NO_COLOR | COLUMNS | CDPATH | POSIXLY_CORRECT | NOISELAB_SEED | NOISELAB_LIBEXEC | \
        NOISELAB_PRESETS | NOISELAB_GEN | NOISELAB_LAUNCHER | NOISELAB_ACCTG_FREQ | NOISELAB_EVIDENCE)
        unset "$name"
        ;;
    esac
done
LANG=C.UTF-8
export LANG
