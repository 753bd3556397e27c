# make.awk TABLE: C of a table of the contract, on stdout. What the fields of a table's lines are is said in
# README.md beside it.
BEGIN {
    FS = "\t"
    print_as["s"] = "fputs(VALUE, f);"
    print_as["name"] = "nl_put_name(f, VALUE);"
    print_as["d"] = "fprintf(f, \"%\" PRId64, (int64_t)(VALUE));"
    print_as["u"] = "fprintf(f, \"%\" PRIu64, (uint64_t)(VALUE));"
    print_as["x"] = "fprintf(f, \"%08\" PRIx32, (uint32_t)(VALUE));"
    print_as["f3"] = "fprintf(f, \"%.3f\", VALUE);"
    print_as["f0"] = "fprintf(f, \"%.0f\", VALUE);"
    print_as["g5"] = "fprintf(f, \"%.5g\", VALUE);"
    print_as["g6"] = "fprintf(f, \"%.6g\", VALUE);"
    print_as["g9"] = "fprintf(f, \"%.9g\", VALUE);"
    print_as["g10"] = "fprintf(f, \"%.10g\", VALUE);"
}

function fail(text) {
    printf "%s:%d: %s\n", FILENAME, FNR, text >"/dev/stderr"
    has_failed = 1
    exit 1
}
function field(title) {
    if (!(title in place)) fail("the table has no field '" title "'")
    return $place[title]
}
# a text with VALUE in the place of the word
function with_value(text, value, at) {
    at = index(text, "VALUE")
    return substr(text, 1, at - 1) value substr(text, at + 5)
}

FNR == 1 {
    table = FILENAME
    sub(/.*\//, "", table)
    sub(/\.table$/, "", table)
    printf "/* Made from %s. */\n", FILENAME
    # the others are included with a macro for their rows, maybe twice
    if (table !~ /^(experiments|channels|checks)$/) printf "#pragma once\n"
    print ""
}
$1 == "#of" { of = $2 }
/^#/ || !NF { next }
!n_fields {
    n_fields = NF
    for (i = 1; i <= NF; i++) place[$i] = i
    next
}
NF != n_fields { fail("has " NF " fields, the first line has " n_fields) }
$1 in seen { fail("'" $1 "' stands twice") }
{ seen[$1] }

table == "statuses" {
    rows = rows sprintf("    NL_EXIT_%s = %d, /* %s */\n", field("name"), field("status"), field("what"))
    next
}
table == "experiments" {
    needs = field("needs")
    gsub(/ /, " | ", needs)
    rows = rows sprintf("EXPERIMENT(\"%s\", %d, %s)\n", field("name"), field("main"), needs)
    next
}
table == "checks" {
    if (field("made") == "accept") rows = rows "CHECK(" $1 ")\n"
    next
}
table == "channels" {
    help = field("help")
    gsub(/["\\]/, "\\\\&", help)
    if (help != "-") rows = rows sprintf("CHANNEL(%s, \"%s\")\n", $1, help)
    next
}
"print" in place {
    if (!(field("print") in print_as)) fail("'" field("print") "' is no way to print a value")
    put = with_value(print_as[field("print")], field("value"))
    known = field("known")
    if (known == ">=0") known = "(" field("value") ") >= 0"
    names = names (names == "" ? "" : ",") $1
    if (known != "-") put = "if (" known ") " put
    rows = rows (rows == "" ? "" : "    fputc(',', f);\n") "    " put "\n"
}

END {
    if (has_failed) exit 1
    if (table == "statuses") printf "enum nl_exit {\n%s};\n", rows
    else if (table ~ /^(experiments|channels|checks)$/) printf "%s", rows
    else if ("print" in place) {
        if (of == "") fail("no line '#of' says what a row is of")
        printf "#define NL_%s_HEADER \"%s\\n\"\n\n", toupper(table), names
        printf "/* One line of it. */\nstatic void nl_put_%s(FILE *f, %s) {\n", table, of
        printf "%s    fputc('\\n', f);\n}\n", rows
    }
}
