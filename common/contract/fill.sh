#!/bin/sh
# fill.sh FILE: the file with lists of the contract in the places of @EXPERIMENTS@ and @STATUSES@, on stdout
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
sed "s|@EXPERIMENTS@|$(rows experiments FIRST name)|; \
    s|@STATUSES@|$(rows statuses 'FIRST SECOND' status short)|" "$1"
