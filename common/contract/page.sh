#!/bin/sh
# page.sh PAGE [check]: writes the tables of columns in PAGE anew, each between the lines `<!-- columns: NAME
# -->` and `<!-- end of columns -->`, from common/contract/NAME.table. check: prints where the page is
# another, and changes nothing.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
page=$1

# columns NAME: the table of a file's columns; `"` stands in the line of the column before
columns() {
    [ -r "$here/$1.table" ] || {
        echo "page.sh: $page names the columns of $1, and there is no common/contract/$1.table" >&2
        return 1
    }
    printf '| column | unit and meaning |\n| --- | --- |\n'
    awk -F '\t' '
        function put() { if (names != "") print "| " names " | " what " |" }
        /^#/ || !NF { next }
        !n { n = NF; for (i = 1; i <= NF; i++) place[$i] = i; next }
        $place["what"] == "\"" { names = names ", `" $1 "`"; next }
        { put(); names = "`" $1 "`"; what = $place["what"] }
        END { put() }' "$here/$1.table"
}

anew() {
    while IFS= read -r line; do
        case $line in
        '<!-- end of columns -->') within= ;;
        esac
        [ -n "${within-}" ] || printf '%s\n' "$line"
        case $line in
        '<!-- columns: '*' -->')
            within=${line#<!-- columns: }
            columns "${within% -->}"
            ;;
        esac
    done <"$page"
}

anew >"$page.new" || {
    rm -f "$page.new"
    exit 1
}
if [ "${2-}" = check ]; then
    status=0
    diff "$page" "$page.new" || status=1
    rm "$page.new"
    exit $status
fi
cat "$page.new" >"$page"
rm "$page.new"
