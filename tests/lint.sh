#!/bin/sh
# Static checks, as TAP: scripts, forbidden symbols in what runs during a measurement, tables against
# documentation, the other compiler.
set -u
cd "$(dirname "$0")/.." || exit 2
build=${NOISELAB_BUILD:-build}
n=0 failed=0

# result STATUS NAME [DETAIL]
result() {
    n=$((n + 1))
    if [ "$1" = 0 ]; then echo "ok $n - $2" && return; fi
    failed=$((failed + 1))
    echo "not ok $n - $2"
    printf '%s\n' "${3-}" | sed 's/^/# /'
}

# needs PROGRAM NAME: whether it is here; else the check is left out
needs() { command -v "$1" >/dev/null || { skip "$2" "$1 is not installed"; false; }; }

# none FOUND NAME [DETAIL]: nothing was found
none() { result "$([ -z "$1" ]; echo $?)" "$2" "${3-$1}"; }

skip() {
    n=$((n + 1))
    printf 'ok %d - %s # SKIP %s\n' "$n" "$1" "$2"
}

# where make has built, by whatever name: what lies there is no file of the project
built=$(find . -maxdepth 3 -name compilers.mk -not -path './.git/*' | sed 's|^\./||; s|[^/]*$||' |
    paste -sd ' ' -)

# tracked [PATTERN]: the project's files, also those that are yet to be committed; without git (or where it
# does not trust the folder) those that are there
tracked() {
    { git ls-files --cached --others --exclude-standard 2>/dev/null | grep . ||
        find . -path ./.git -prune -o -type f -print | sed 's|^\./||'; } |
        awk -v folders="$built build/" \
        'BEGIN { n = split(folders, folder, " ") } {
        for (i = 1; i <= n; i++) if (index($0, folder[i]) == 1) next; print }' |
        grep -E "${1:-.}"
}

scripts='docs/*.sh experiments/noiselab experiments/noiselab-run
    experiments/command/*.sh
    experiments/node-health.sh '"$build"'/libexec/noiselab/*.sbatch analysis/exec/*.sh tests/*.sh
    tests/bench/*.sh tests/fuzz/*.sh tests/fault/*.sh tests/cluster/*.sh tests/in-turn/launcher
    tests/kept/names.sh packaging/*.sh common/contract/*.sh packaging/debian/tests/mpi
    packaging/debian/*.prerm packaging/debian/*.postinst .ci/run'
if needs shellcheck 'shellcheck finds nothing in the scripts'; then
    # shellcheck disable=SC2086
    out=$(shellcheck -x -P SCRIPTDIR $scripts 2>&1)
    status=$?
    result "$status" 'shellcheck finds nothing in the scripts' "$out"
fi

# lines have at most 110 columns, in documents 100; tests/kept/wide.txt names the files that are still wider,
# and only loses lines
wide=$(tracked '\.(c|h|R|sh|py|bats|bash|awk|md)$' | LC_ALL=C sort | xargs python3 -I tests/wide.py)
out=$(printf '%s\n' "$wide" | grep -vxF -f tests/kept/wide.txt |
    sed 's/$/: has lines of more than 110 columns (in documents 100)/'
[ "${NOISELAB_TESTS-}" != long ] || printf '%s\n' "$wide" | LC_ALL=C comm -13 - tests/kept/wide.txt |
    sed 's/$/: is not too wide any more (or gone): take its line out of tests\/kept\/wide.txt/')
none "$out" 'no file but those of tests/kept/wide.txt has wide lines'
# the runner in Python: its types, what is not used, what is longer than 110 columns beside help texts, and no
# shell
if needs mypy 'the types of the runner fit each other'; then
    out=$(cd experiments && mypy --strict --cache-dir "$OLDPWD/$build/mypy" noiselab_run 2>&1)
    result $? 'the types of the runner fit each other' "$out"
fi
if needs pyflakes3 'the runner in Python has nothing that is not used, or not there'; then
    out=$(pyflakes3 experiments/noiselab_run tests/runner 2>&1)
    result $? 'the runner in Python has nothing that is not used, or not there' "$out"
fi
out=$(awk "FNR == 1 { help = 0; next } /USAGE = '''/ { help = 1 } /^'''/ { help = 0 }
    !help && length(\$0) > 110 { print FILENAME \":\" FNR }
    /shell=True|os[.]system|os[.]popen|\\<(eval|exec)\\(/ {
        print FILENAME \":\" FNR \": no shell, and nothing is evaluated\" }" \
    experiments/noiselab_run/*.py tests/runner/*.py)
none "$out" 'the runner in Python has lines of 110 columns, starts no shell and evaluates nothing'
# what Python 3.6 can read, as far as a later one can tell
out=$(python3 -I -c 'import ast, sys
for path in sys.argv[1:]:
    try: ast.parse(open(path, encoding="utf-8").read(), path, feature_version=(3, 6))
    except SyntaxError as error: print(error)' experiments/noiselab_run/*.py 2>&1)
none "$out" 'Python 3.6 can read the runner'

# what runs during a measurement must not print, allocate, parse or exit
forbidden='printf|fprintf|sprintf|snprintf|vsnprintf|puts|fputs|fputc|fwrite|fopen|fflush'
forbidden="$forbidden|malloc|calloc|realloc|free|exit|_exit|abort|getopt|getopt_long|argp_parse"
plain() { sed 's/@.*//; s/^__//; s/_chk$//'; }
for object in detector/measure/measure detector/measure/start_modes detector/measure/late_call \
    detector/ops/work noisegen/patterns/pace detector/acceptance/scan \
    detector/acceptance/transfer detector/ops/op_*.c; do
    object=${object%.c}
    found=$(nm -u "$build/obj/$object.o" | awk '{ print $2 }' | plain | grep -xE "$forbidden")
    none "$found" "$object.c calls no stdio, allocation, option parsing or exit"
done

# a kind may allocate when it is prepared, but not in `work`: everything that `work` reaches within its file
for file in noisegen/kinds/kind_*.c; do
    name=$(basename "$file" .c)
    found=$(objdump -dr --no-show-raw-insn "$build/obj/noisegen/kinds/$name.o" | awk '
        /^[0-9a-f]+ <.*>:$/ { f = $2; gsub(/[<>:]/, "", f); seen[f] = 1; next }
        / R_[A-Z0-9_]+/ { s = $NF; sub(/[-+]0x[0-9a-f]+$/, "", s); calls[f] = calls[f] " " s; next }
        /<[^>]+>$/ { s = $NF; gsub(/[<>]/, "", s); sub(/\+0x[0-9a-f]+$/, "", s);
            if (s != f) calls[f] = calls[f] " " s }
        END {
            if (!("work" in seen)) { print "no-function-work"; exit }
            todo[n = 1] = "work"; reached["work"] = 1
            for (i = 1; i <= n; i++) {
                k = split(calls[todo[i]], to, " ")
                for (j = 1; j <= k; j++) if (!(to[j] in reached)) {
                    reached[to[j]] = 1; todo[++n] = to[j]; if (!(to[j] in seen)) print to[j] }
            }
        }' | plain | grep -xE "$forbidden|no-function-work")
    none "$found" "$name.c calls no stdio, allocation, option parsing or exit from work"
done

# a row in a file of its own is in its table
# not of what was a file once
rows=$(tracked '(ops/op|kinds/kind|checks/check)_[a-z_]*\.c$' | sed "s|^|$build/obj/|; s/\.c$/.o/")
# shellcheck disable=SC2086
lost=$({ find "$build/obj" -name '*.o' -exec nm -u {} +; nm $rows; } |
    awk '$1 == "U" { used[$2] } $2 ~ /^[RD]$/ && $3 ~ /^(nd_op|ng_kind|nx_check)_/ { row[$3] } END {
    for (r in row) if (!(r in used)) printf " %s", r }')
none "$lost" 'every operation, kind and check is in its table' \
    "in none (nd_ops in detector/ops/op_collectives.c, NL_KINDS in common/trace/nl_kinds.h, checks in \
common/contract/checks.table):$lost"

# operations need no test of their own: tests/cli/operations.bats runs every row
lost=$(cut -f 1-3 "$build/share/noiselab/words.tsv" | while IFS="$(printf '\t')" read -r program type name; do
    case $program:$type in
    *:kind) words="\"$name\"" where=tests/unit/noisegen/kinds ;;
    *:check) words="\\b$name\\b" where='tests/cli/accept.bats tests/truth/accept.bats' ;;
    *:channel) words="\"$name\"" where=analysis/tests/testthat ;;
    *:experiment) words="(run |')$name\\b" where='tests/cli tests/cluster tests/runner' ;;
    *:plot) words="(\\bplot_$(echo "$name" | tr - _)|\"$name\")" where=analysis/tests/testthat ;;
    noiselab-detect:option) words="$name([^a-z-]|$)" where='tests/cli tests/truth tests/cluster tests/unit' ;;
    noiselab-detect:key)
        name=${name%%=*} words="[:,]${name##*:}=" where='tests/cli tests/truth tests/cluster tests/unit'
        ;;
    *) continue ;;
    esac
    # shellcheck disable=SC2086 # folders
    grep -rqE -e "$words" $where || printf ' %s %s (in %s)' "$type" "$name" "$where"
done)
none "$lost" \
    'every kind, check, channel, experiment, plot and option of the detector has a test that names it' \
    "none:$lost"

# what an option of the detector sets is read
lost=$(grep -oE '\b(AT|KEPT)\([A-Z_]+, [a-z_.]+\)' detector/options/options.c | sed 's/.*[ .]//; s/)//' |
    sort -u | while read -r field; do
    grep -rhwE --include='*.c' -e "$field" detector |
        grep -qvE "(AT|KEPT)\([A-Z_]+, [a-z_.]*$field\)|\.$field = " || printf ' %s' "$field"
done)
none "$lost" 'what an option of the detector sets is read somewhere' "no file of detector/ reads:$lost"

# Who includes whom, as the table of rooms says (docs/guides/extending.md): rooms above, and those that the
# row names by their last folder.
out=$(tracked '^(common|noisegen|detector|experiments/command)/.*\.[ch]$' |
    xargs grep -HE '^#include "' /dev/null | awk -F '"' '
    FNR == NR {
        if (split($0, cell, " *\\| *") < 4 ||
            cell[2] !~ /^`(common|noisegen|detector|experiments)(\/[a-z]+)*`$/) next
        gsub(/`/, "", cell[2])
        place[cell[2]] = ++n_rooms
        n = split(cell[3], used, "[` ]+")
        for (i = 1; i <= n; i++) uses[cell[2], used[i]] = 1
        next
    }
    {
        file = $1; sub(/:.*/, "", file); room = file; sub(/\/[^\/]*$/, "", room)
        of = $2; sub(/\/[^\/]*$/, "", of); last = of; sub(/.*\//, "", last)
        met[room] = 1
        if (!(room in place)) print file ": its room is not in the table"
        else if (of != room && !((room, last) in uses)) print file ": " $2 " is of no room that it uses"
        else if (of != room && place[of] >= place[room]) print file ": " $2 " is of a room below"
        else { with[room, last] = 1; met[of] = 1 }
    }
    END {
        for (key in uses) {
            split(key, part, SUBSEP);
                if (part[2] != "" && !(key in with)) print part[1] " does not use " part[2] }
        for (room in place) if (!(room in met)) print room ": no such room"
        if (n_rooms < 20) print "the table of rooms is not found"
    }' docs/guides/extending.md -)
none "$out" 'rooms use those that the table of rooms says, all of them above'

# the rooms of the C programs, in their order
# shellcheck disable=SC2016 # in Markdown
rooms=$(sed -nE 's/^\| `((common|noisegen|detector|experiments)[a-z/]*)` \|.*/\1/p' docs/guides/extending.md)
# A unit test stands in the room of what it tests: it includes a header of that room (or has the name of a
# source there), and none of a room below; what has the name of a source stands in that one's room.
# shellcheck disable=SC2016 # for awk
out=$(tracked '^(common|noisegen|detector|experiments/command)/.*\.[ch]$|^tests/unit/.*/test_[a-z_]*\.c$' |
    xargs awk -v table="$rooms" '
    function named(path) { sub(/.*\//, "", path); sub(/^(test|nl)_/, "", path); sub(/\.[ch]$/, "", path)
        return path }
    BEGIN { n = split(table, room, " "); for (i = 1; i <= n; i++) place[room[i]] = i }
    FNR == 1 {
        of = FILENAME; sub(/\/[^\/]*$/, "", of); sub(/^tests\/unit\//, "", of)
        is_test = FILENAME ~ /^tests/
        if (is_test && of in place) test[FILENAME] = of
        else if (is_test && of != "reference") print FILENAME ": " of " is no room"
        if (!is_test) { there[of, named(FILENAME)]; where[named(FILENAME)] = of }
    }
    is_test && /^#include "(common|noisegen|detector|experiments)\// {
        split($0, part, "\""); header = part[2]; its = header; sub(/\/[^\/]*$/, "", its)
        if (its == of) own[FILENAME]
        if (of in place && place[its] > place[of]) print FILENAME ": " header " is of a room below"
    }
    END {
        for (file in test) {
            name = named(file)
            if ((test[file], name) in there) continue
            if (name in where) print file ": its source is in " where[name]
            else if (!(file in own)) print file ": tests nothing of " test[file] ", by its includes"
        }
    }')
none "$out" 'a unit test stands in the room of what it tests'
out=$(! command -v Rscript >/dev/null || Rscript --vanilla tests/rooms.R docs/guides/extending.md analysis/R \
    2>&1)
none "$out" 'rooms of the analysis use those above them'

# An option that a man page names is one of a program, but for those of launchers.
launchers='bind-to\|cpu-bind\|mpi\|hint\|acctg-freq\|kill-on-bad-exit\|ntasks-per-node\|overlap'
strange=$(sed "s/\\\\-/-/g; s/--\\($launchers\\)\\>//g" docs/man/*.1 |
    grep -oE -- '--[a-z][a-z-]+' |
    sort -u | grep -vxF "$(cut -f 3 "$build/share/noiselab/words.tsv")")
none "$strange" 'man pages name no option that is none'

# one version
none "$(sh packaging/release.sh --check 2>&1)" \
    'man pages, packages, citation and changelog have the version of the programs'

# the page of evidence is made from the rows, and has every file of them
out=$(tests/evidence.sh page | diff docs/evidence.md - 2>&1 |
    head -n 6; for file in docs/evidence/*.csv; do grep -qF "(evidence/${file##*/})" docs/evidence.md ||
    echo "$file is not on it"
    head -n 1 "$file" | grep -q '^# ' || echo "$file: its first line does not say what it is"
    grep -qE '20[0-9]{2}-[0-9]{2}-[0-9]{2}' "$file" || echo "$file has no date"
done)
none "$out" 'docs/evidence.md is what its rows make' "make evidence SECONDS=1 ONLY=page; $out"

copy=$(mktemp) && cp docs/guides/live.md "$copy"
out=$(docs/top-costs.sh "$copy" && diff docs/guides/live.md "$copy" | head -n 6)
none "$out" 'what noiselab top costs stands in docs/guides/live.md as its rows say' "docs/top-costs.sh; $out"
rm -f "$copy"

# what is included is known by its name alone, too
out=$(tracked '\.h$' | sed 's|.*/||' | sort | uniq -d)
none "$out" 'no two headers have one name'

# a source in C says in a header of its own name what others may use; programs, the library's entry points,
# rows and the table of ways need none
out=$(tracked '^(common|noisegen|detector|experiments/command)/.*\.c$' |
    grep -vE '/(main|doctor|sh|library|ways|(op|kind|check|kernel|source|way)_[a-z0-9_]*)\.c$' |
    while read -r file; do [ -e "${file%.c}.h" ] || echo "$file: there is no ${file%.c}.h"; done)
none "$out" 'every source in C has a header of its own name'

# of two functions of one name in the package the file that comes later would win
out=$(grep -hoE '^[A-Za-z_.][A-Za-z0-9_.]* <- ' analysis/R/*.R | sort | uniq -d)
none "$out" 'nothing in the R package is defined twice'

# every key that a launch writes is in the formats
if needs jq 'every key of launch.json is in the formats'; then
    launches=$(mktemp -d)
    "$build/bin/noiselab-detect" --op empty --levels 0 --seconds 0.1 --out "$launches/detect" \
        --launch-id one >"$launches/said" 2>&1 &&
        "$build/bin/noiselab-accept" --checks integrity --repetitions 2 --seconds 0.1s \
        --out "$launches/accept" --launch-id one >>"$launches/said" 2>&1
    status=$?
    # not the MPI library's own variables, nor what has the name of its option, with its unit
    lost=$(jq -r 'paths | map(strings) | last // empty' "$launches"/*/one/launch.json | grep -v '^coll_' |
        sort -u | while read -r key; do
        option=--$(printf '%s' "$key" | sed 's/_\(ns\|percent\|bytes\)$//; s/_/-/g')
        grep -qE "(^|[^a-z_])$key([^a-z_]|$)" docs/reference/formats.md ||
            cut -f 3 "$build/share/noiselab/words.tsv" |
            grep -qE -- "^([a-z-]*:)?${option#--}(=|$)|^$option$" || printf ' %s' "$key"
    done)
    [ "$status" = 0 ] || lost="no launch $lost"
    none "$lost" 'every key of launch.json is in the formats' \
        "docs/reference/formats.md lacks:$lost; $(tail -n 1 "$launches/said")"
    rm -rf "$launches"
fi

if needs mandoc 'mandoc finds nothing in the man pages'; then
    out=$(mandoc -T lint -W warning "$build"/share/man/man1/*.1 2>&1)
    result $? 'mandoc finds nothing in the man pages' "$out"
fi

# anchors PAGE: those of its headings, as GitHub and GitLab make them
anchors() {
    awk '/^```/ { code = !code } !code && /^#+ /' "$1" | sed 's/^#* //' | tr '[:upper:]' '[:lower:]' |
        tr -cd 'a-z0-9 _\n-' | tr ' ' '-'
}

# broken_links PAGE: those within this folder that lead to no file, or to no heading
broken_links() {
    grep -oE '\]\([^) ]+\)' "$1" | sed 's/^](//; s/)$//' | grep -v '^[a-z]*:' | sort -u |
        while read -r link; do
        file=${link%%#*}
        file=${file:+$(dirname "$1")/$file}
        [ -e "${file:-$1}" ] || echo "$1: $link"
        case $link in
        *'#'*) anchors "${file:-$1}" | grep -qxF -- "${link#*#}" || echo "$1: $link" ;;
        esac
    done
}

lost=$(for page in README.md CHANGELOG.md docs/*.md docs/*/*.md experiments/reframe/README.md; do \
    broken_links "$page"; done)
none "$lost" 'every link of the documentation within this folder leads somewhere'

# files of docs/ that comments, man pages and scripts name
lost=$(tracked | xargs grep -noE 'docs/[a-z/-]+\.md(#[a-z0-9-]+)?' -- | grep -v '^CHANGELOG' |
    while IFS=: read -r file line named; do
    [ -e "${named%%#*}" ] || [ "${file%%/*}" = docs ] || echo "$file:$line: $named"
done)
none "$lost" 'every document that a comment or a page names is there'

# the guide shows files in place of code; NAME stands for what is added
# shellcheck disable=SC2016 # in Markdown
lost=$(grep -oE '`(common|noisegen|detector|analysis|experiments|tests)/[A-Za-z0-9_./-]+\.[a-zA-Z]+`' \
    docs/guides/extending.md | tr -d '`' | grep -v NAME | sort -u |
    while read -r file; do [ -e "$file" ] || printf ' %s' "$file"; done)
none "$lost" 'every file that the guide to extending points at is there'

# what it says of a name, that it stands in a file: `NAME` of `FILE`, also over the end of a line
# shellcheck disable=SC2016 # in Markdown
lost=$(tr '\n' ' ' <docs/guides/extending.md | tr -s ' ' |
    grep -oE '`[A-Za-z_]+(\(\))?` (of|in) `[A-Za-z0-9_./-]+\.[a-zA-Z]+`' | tr -d '`()' | grep -v NAME |
    while read -r name _ file; do
    [ -e "$file" ] || file=$(tracked "/$file\$" | head -n 1)
    grep -qsw -e "$name" "$file" || printf ' %s in %s;' "$name" "$file"
done)
none "$lost" 'every name that the guide to extending places in a file stands there'

# the names that 1.x keeps; new ones are kept from the next version on, which is the first line
out=$(sh tests/kept/names.sh "$build" | awk -F '\t' '
    { key = $1 FS $2 FS $3 }
    FNR == NR { if (/^#/) version = $0; else now[key] = $4; next }
    /^#/ { is_new = $0 != version; if (is_new) print "gone: " $0; next }
    { then[key] = $4 }
    !(key in now) { print "gone: " $0; next }
    {   # that one more program has it, such as a new experiment, breaks nobody
        n = split($4, program, ", ")
        for (i = 1; i <= n; i++)
            if (!index(", " now[key] ", ", ", " program[i] ", ")) print "gone: " key " of " program[i]
    }
    END { for (key in now) if (is_new && now[key] != then[key]) print "new: " key FS now[key] }' \
    - tests/kept/names.tsv)
none "$out" 'no option, command or row of a table of tests/kept/names.tsv is gone' "$out
a name that is gone breaks scripts (docs/reference/promises.md); where it is meant to, or this is a new
version: put what is new into CHANGELOG.md, and
sh tests/kept/names.sh $build >tests/kept/names.tsv, with its diff in the commit"

# what the contract says stands nowhere else by hand (common/contract/README.md)
out=$(sh common/contract/page.sh docs/reference/formats.md check 2>&1 | head -n 6)
none "$out" 'columns in docs/reference/formats.md are those of common/contract' \
    "sh common/contract/page.sh docs/reference/formats.md; $out"
fields() {
    awk -F '\t' -v of="$2" \
        '/^#/ || !NF { next } !n { n = NF; for (i = 1; i <= NF; i++) place[$i] = i; next } {
        print $place[of] }' "common/contract/$1.table"
}
out=$(for name in $(fields experiments name); do
    for file in "experiments/noiselab_run/$name.py" "experiments/$name.sbatch"; do
        [ -e "$file" ] || echo "$name of experiments.table has no $file"
    done
done
sed -n "s/^\"\"\"\([a-z]*\): .*/\1/p" experiments/noiselab_run/*.py | grep -vxF "$(fields experiments name)" |
    sed 's/$/ (experiments\/noiselab_run) is not in experiments.table/'
# what answers an experiment is a word of noiselab analyze
sed -n "s/^ *\(NAME = \)*ANALYSIS = '\([a-z]*\)'$/\2/p" experiments/noiselab_run/*.py | while read -r word; do
    cut -f 2,3 "$build/share/noiselab/words.tsv" | grep -qxF "analysis$(printf '\t')$word" ||
        echo "$word (ANALYSIS in experiments/noiselab_run) is no analysis: word_$word() is not in analysis/R"
done)
none "$out" 'experiments are those of common/contract/experiments.table'
# a figure that stands for a check is told to people, and judged, by its row in R
lost=$(awk -F '\t' '$2 == "accept" && $6 != "-" { print $1 }' common/contract/checks.table |
    while read -r name; do
    grep -qE "measure\(\"$name\"," analysis/R/acceptance-measures.R || printf ' %s' "$name"
done)
none "$lost" 'every check with a figure has its rows in acceptance_measures' \
    "no row of analysis/R/acceptance-measures.R is of:$lost"
out=$(fields statuses status | while read -r status; do
    grep -qF "| $status | $(awk -F '\t' -v s="$status" '$1 == s {
        print $5 }' common/contract/statuses.table) |" docs/reference/exit-status.md ||
        echo "docs/reference/exit-status.md says something else of $status"
    name=$(awk -F '\t' -v s="$status" '$1 == s { print $3 }' common/contract/statuses.table)
    [ "$name" = - ] || grep -qE "^$name = $status( |\$)" experiments/noiselab_run/status.py ||
        echo "experiments/noiselab_run/status.py: wanted $name = $status"
done)
none "$out" 'exit statuses are those of common/contract/statuses.table'

# words that noiselab help explains
lost=$(cut -f 2 experiments/words.tsv | while read -r word; do grep -qE "^\\|.*\\b$word(\\b| ).*\\|" \
    docs/reference/glossary.md || echo "$word"; done)
none "$lost" 'every word that noiselab help explains is in the glossary'

long=$(LC_ALL=C.UTF-8 grep -nE '^.{121}' README.md | cut -d : -f 1; [ "$(wc -l <README.md)" -le 150 ] ||
    echo 'more than 150 lines')
none "$long" 'the README has at most 150 lines of at most 120 columns'

# what the compiler of this build said of every object, with the optimisation that some warnings take
own=${CC:-gcc}
out=$(find "$build/obj" "$build/tests" "$build/tests-mpi" "$build/bench" -name '*.said' -exec cat {} + \
    2>&1) && [ -z "$out" ] && [ -e "$build/obj/detector/main.o.said" ]
result $? "$own compiles everything without a warning" "$out"

# the other one reads everything, and makes nothing of it: half a minute of a CPU for what the compiler of the
# build seldom leaves unsaid; the matrix of libraries compiles with both, too
[ "$own" = clang ] && other=gcc || other=clang
if [ "${NOISELAB_TESTS-}" != long ]; then
    skip "$other reads everything without a warning" 'long: make test-long'
elif needs "$other" "$other reads everything without a warning"; then
    out=$(make -s -j"$(nproc)" --no-print-directory BUILD="$build/lint-$other" CC="$other" \
        CFLAGS=-fsyntax-only WARNINGS='-Wall -Wextra -Werror' objects 2>&1)
    result $? "$other reads everything without a warning" "$out"
fi

printf '1..%d\n' "$n"
[ "$failed" -eq 0 ]
