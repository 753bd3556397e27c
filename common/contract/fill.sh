#!/bin/sh
# fill.sh FILE: the file with lists of the contract in the places of @EXPERIMENTS@ (as many as fit into a line
# of the help) and @STATUSES@, on stdout
set -eu
here=$(cd "$(dirname "$0")" && pwd)

# rows TABLE FORM FIELD...: of each line the fields in this form of printf, joined by commas
rows() {
    awk -F '\t' -v form="$2" -v first="$3" -v second="${4-}" '
        /^#/ || !NF { next }
        !n { n = NF; for (i = 1; i <= NF; i++) place[$i] = i; next }
        $place[first] != "-" && (second == "" || $place[second] != "-") {
            text = form
            sub(/FIRST/, $place[first], text)
            if (second != "") sub(/SECOND/, $place[second], text)
            printf "%s%s", separator, text
            separator = ", "
        }' "$here/$1.table"
}

# fitting COLUMNS: a list on stdin, or the first of it that fit, and "..."
fitting() {
    awk -v most="$1" '
        length($0) > most {
            while (length($0) > most - length(", ...")) sub(/, [^,]*$/, "")
            $0 = $0 ", ..."
        }
        { print }'
}
sed "s|@EXPERIMENTS@|$(rows experiments FIRST name | fitting 79)|; \
    s|@STATUSES@|$(rows statuses 'FIRST SECOND' status short)|" "$1"
