#!/bin/sh
# Static checks, as TAP: scripts, forbidden symbols in what runs during a measurement, tables against documentation, the other compiler.
set -u
cd "$(dirname "$0")/.." || exit 2
build=${NOISELAB_BUILD:-build}
n=0 failed=0

# result STATUS NAME [DETAIL]
result() {
    n=$((n + 1))
    if [ "$1" = 0 ]; then
        printf 'ok %d - %s\n' "$n" "$2"
    else
        failed=$((failed + 1))
        printf 'not ok %d - %s\n' "$n" "$2"
        printf '%s\n' "${3-}" | sed 's/^/# /'
    fi
}

skip() {
    n=$((n + 1))
    printf 'ok %d - %s # SKIP %s\n' "$n" "$1" "$2"
}

scripts='experiments/noiselab experiments/noiselab-run experiments/*.sh experiments/*.sbatch analysis/exec/*.sh tests/*.sh tests/bench/*.sh tests/cluster/cluster.sh tests/cluster/keeper.sh .ci/run'
if command -v shellcheck >/dev/null; then
    # shellcheck disable=SC2086
    out=$(shellcheck -x -P SCRIPTDIR $scripts 2>&1)
    result $? 'shellcheck finds nothing in the scripts' "$out"
else
    skip 'shellcheck finds nothing in the scripts' 'shellcheck is not installed'
fi

# what runs during a measurement must not print, allocate, parse or exit
forbidden='printf|fprintf|sprintf|snprintf|vsnprintf|puts|fputs|fputc|fwrite|fopen|fflush|malloc|calloc|realloc|free|exit|_exit|abort|getopt|getopt_long|argp_parse'
plain() { sed 's/@.*//; s/^__//; s/_chk$//'; }
for object in detector/measure detector/start_modes detector/work noisegen/pace acceptance/scan acceptance/transfer acceptance/words acceptance/completeness detector/op_*.c; do
    object=${object%.c}
    found=$(nm -u "$build/obj/$object.o" | awk '{ print $2 }' | plain | grep -xE "$forbidden")
    [ -z "$found" ]
    result $? "$object.c calls no stdio, allocation, option parsing or exit" "$found"
done

# a kind may allocate when it is prepared, but not in `work`: everything that `work` reaches within its file
for file in noisegen/kind_*.c; do
    name=$(basename "$file" .c)
    [ "$name" = kind_help ] && continue
    found=$(objdump -dr --no-show-raw-insn "$build/obj/noisegen/$name.o" | awk '
        /^[0-9a-f]+ <.*>:$/ { f = $2; gsub(/[<>:]/, "", f); seen[f] = 1; next }
        / R_[A-Z0-9_]+/ { s = $NF; sub(/[-+]0x[0-9a-f]+$/, "", s); calls[f] = calls[f] " " s; next }
        /<[^>]+>$/ { s = $NF; gsub(/[<>]/, "", s); sub(/\+0x[0-9a-f]+$/, "", s); if (s != f) calls[f] = calls[f] " " s }
        END {
            if (!("work" in seen)) { print "no-function-work"; exit }
            todo[n = 1] = "work"; reached["work"] = 1
            for (i = 1; i <= n; i++) {
                k = split(calls[todo[i]], to, " ")
                for (j = 1; j <= k; j++) if (!(to[j] in reached)) { reached[to[j]] = 1; todo[++n] = to[j]; if (!(to[j] in seen)) print to[j] }
            }
        }' | plain | grep -xE "$forbidden|no-function-work")
    [ -z "$found" ]
    result $? "$name.c calls no stdio, allocation, option parsing or exit from work" "$found"
done

# every long option is in the man page of its program
for program in noiselab-gen noiselab-record noiselab-agent noiselab-detect noiselab-accept noiselab-node-health; do
    lost=''
    for option in $("$build/bin/$program" --help | grep -oE '(^|[ ,])--[a-z][a-z-]*' | tr -d ' ,' | sort -u); do
        grep -q -- "$(printf '%s' "$option" | sed 's/-/\\\\-/g')" "docs/man/$program.1" || lost="$lost $option"
    done
    [ -z "$lost" ]
    result $? "every option of $program is in its man page" "missing:$lost"
done

# every row of a table is in the README
for list in 'noiselab-detect --list-operations' 'noiselab-detect --list-designs' 'noiselab-detect --list-channels' 'noiselab-detect --list-starts' 'noiselab-detect --list-clocks' \
    'noiselab-detect --list-syncs' 'noiselab-detect --list-arrivals' 'noiselab-detect --list-datatypes' 'noiselab-detect --list-reductions' 'noiselab-gen --list-kinds' 'noiselab-gen --list-patterns'; do
    lost=''
    # shellcheck disable=SC2086
    for name in $("$build/bin/"$list | awk '{ print $1 }'); do
        grep -q "\`$name\`" README.md || lost="$lost $name"
    done
    [ -z "$lost" ]
    result $? "the README names every row of $list" "missing:$lost"
done

for compiler in gcc clang; do
    if command -v "$compiler" >/dev/null; then
        out=$(make -s -j"$(nproc)" --no-print-directory BUILD="$build/lint-$compiler" CC="$compiler" WARNINGS='-Wall -Wextra -Werror' programs tests-built 2>&1)
        result $? "$compiler compiles everything without a warning" "$out"
    else
        skip "$compiler compiles everything without a warning" "$compiler is not installed"
    fi
done

printf '1..%d\n' "$n"
# a failed check has said so above: the runner counts lines, not statuses
