#!/bin/bash
# man.sh BUILD PAGE: a man page with its options, on stdout: for a line `.\" options PROGRAM` those of the
# program's table, for a line `.\" rows PROGRAM TYPE` the rows of another table of it (operations: the three
# forms of one together), for a line `.\" experiments` what noiselab run EXPERIMENT prints of each, without
# what all of them print, which is `.\" help` alone
set -eu
table_of_words=$1/share/noiselab/words.tsv

# verbatim: stdin as it stands
verbatim() {
    echo .EX
    sed 's/\\/\\e/g; s/-/\\-/g; s/^[.'\'']/\\\&&/'
    echo .EE
}

common=$("$1/bin/noiselab-run" --common-help)
while IFS= read -r line; do
    case $line in
    '.\" options '*)
        awk -F '\t' -v program="${line#* options }" '
            function roff(text) { gsub(/\\/, "\\e", text); gsub(/-/, "\\-", text); return text }
            $1 == program && $2 == "group" { sub(/:$/, "", $5); print ".SS " roff($5) }
            $1 == program && $2 == "option" {
                print ".TP\n\\fB" roff($3) "\\fR" ($4 == "-" ? "" : "=\\fI" roff($4) "\\fR") "\n\\&" roff($5)
                n++
            }
            $1 == program && $2 == "key" { print ".TP\n\\fB" roff($3) "\\fR\n\\&" roff($5) }
            END { exit !n }' "$table_of_words"
        ;;
    '.\" rows '*)
        awk -F '\t' -v table="${line#* rows }" '
            function roff(text) { gsub(/\\/, "\\e", text); gsub(/-/, "\\-", text); return text }
            function put() { if (names != "") print ".TP\n" names "\n\\&" help; n++ }
            $1 " " $2 != table { next }
            $3 == "i" first || $3 == first "_init" { names = names ", \\fB" roff($3) "\\fR"; next }
            { put(); first = $3; names = "\\fB" roff($3) "\\fR" ($4 == "-" ? "" : " \\fI" roff($4) "\\fR");
                help = roff($5) }
            END { put(); exit n < 2 }' "$table_of_words"
        ;;
    '.\" help') printf '%s\n' "$common" | verbatim ;;
    '.\" experiments')
        awk -F '\t' '$1 == "noiselab-run" && $2 == "experiment" { print $3 }' "$table_of_words" |
            while read -r experiment; do
            printf '.SS Of %s\n' "$experiment"
            "$1/bin/noiselab-run" "$experiment" --help </dev/null |
                awk -v end="${common%%:*}:" '$0 == end { exit } { print }' | verbatim
        done
        ;;
    *) printf '%s\n' "$line" ;;
    esac
done <"$2"
