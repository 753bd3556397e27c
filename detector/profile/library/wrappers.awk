# wrappers.awk: makes the entry points of the profile from calls.table, on stdout as C.
BEGIN { FS = "|" }
/^#/ || !NF { next }

# the name that an argument's declaration gives it, and the rest, its type
function name_of(declared) { sub(/\[\]$/, "", declared); sub(/.*[ *]/, "", declared); return declared }
function type_of(declared, type) {
    type = declared
    sub(/[A-Za-z0-9_]+(\[\])?$/, "", type)
    return declared ~ /\[\]$/ ? type "*" : type
}
function uses(text, word) { return (" " text " ") ~ ("[^A-Za-z0-9_]" word "[^A-Za-z0-9_]") }

# the value in C of an argument of Fortran, which is an address
function value_of(declared, name, type) {
    name = name_of(declared); type = type_of(declared)
    if (type == "int ") return "    int " name " = *(const MPI_Fint *)f_" name ";\n"
    if (type == "MPI_Datatype ")
        return "    MPI_Datatype " name " = PMPI_Type_f2c(*(MPI_Fint *)f_" name ");\n"
    if (type == "MPI_Comm ") return "    MPI_Comm " name " = PMPI_Comm_f2c(*(MPI_Fint *)f_" name ");\n"
    return "    " type name " = f_" name ";\n"
}

function in_c(name, real, comm, arrive, leave, words, i) {
    words = name_of(part[1])
    for (i = 2; i <= n_parts; i++) words = words ", " name_of(part[i])
    printf "NF_EXPORT int %s(%s) {\n    struct nf_call call;\n", name, arguments
    printf "    if (!nf_enter(&call)) return %s(%s);\n", real, words
    printf "%s    int error = %s(%s);\n    nf_left(&call);\n", arrive, real, words
    printf "    if (error == MPI_SUCCESS) %s;\n    nf_leave();\n    return error;\n}\n", leave
}

function in_fortran(name, arrive, leave, needed, i, declared, words, values, types) {
    for (i = 1; i <= n_parts; i++) {
        declared = declared "void *f_" name_of(part[i]) ", "
        words = words "f_" name_of(part[i]) ", "
        types = types "void *, "
        if (uses(needed, name_of(part[i]))) values = values value_of(part[i])
    }
    printf "NF_EXPORT void %s(%sMPI_Fint *f_error) {\n", name, declared
    printf "    static void (*next)(%sMPI_Fint *);\n", types
    printf "    if (!next) *(void **)&next = nf_next(\"%s\");\n", name
    printf "    struct nf_call call;\n    if (!nf_enter(&call)) {\n"
    printf "        next(%sf_error);\n        return;\n    }\n", words
    printf "%s%s    next(%sf_error);\n    nf_left(&call);\n", values, arrive, words
    printf "    if (!f_error || *f_error == MPI_SUCCESS) %s;\n    nf_leave();\n}\n", leave
}

# entry(NAME WITHOUT MPI_, PREFIX, ARGUMENTS, CLASS, BYTES): one function in both languages
function entry(name, prefix, given, class, bytes, i, comm, root, arrive, count, needed) {
    arguments = given
    n_parts = split(arguments, part, ", ")
    comm = "MPI_COMM_NULL"; root = "NF_NO_ROOT"
    for (i = 1; i <= n_parts; i++) {
        if (name_of(part[i]) == "comm") comm = "comm"
        if (name_of(part[i]) == "root") root = "root"
    }
    arrive = class == "sync" ? "    nf_arrive(&call, comm);\n" : ""
    count = "nf_count(&call, " (n_calls + 0) ", " comm ", " root ", " bytes ")"
    needed = bytes " " comm " " root (uses(bytes, "N") ? " comm" : "")
    in_c(prefix name, "P" prefix name, comm, arrive, count)
    in_fortran(tolower(prefix name) "_", arrive, count, needed)
    in_fortran(tolower(prefix name) "_f08_", arrive, count, needed)
    names = names "    \"" tolower(name) "\",\n"
    classes = classes "'" substr(class, 1, 1) "', "
    n_calls++
}

NR > 1 && NF != 4 { print "calls.table: line " NR ": not four fields" >"/dev/stderr"; failed = 1; exit 1 }

!n_calls {
    print "/* Made from calls.table by wrappers.awk. */"
    print "#include \"detector/profile/library/count.h\"\n"
}

{
    entry($1, "MPI_", $4, $2, $3)
    if ($2 == "p2p") next
    lower = "I" tolower($1)
    entry(lower, "MPI_", $4 ", MPI_Request *request", "later", $3)
    if ($1 !~ /^Neighbor/) later[++n_later] = $1 "_init|" $4 ", MPI_Info info, MPI_Request *request|" $3
}

END {
    if (failed) exit 1
    # persistent collectives: where the library has them, and under the name that it gives them
    first = n_calls; names_before = names; classes_before = classes
    for (turn = 1; turn <= 2; turn++) {
        n_calls = first; names = names_before; classes = classes_before
        print turn == 1 ? "#if NF_PERSISTENT == NF_EXTENSION" : "#elif NF_PERSISTENT == NF_STANDARD"
        for (i = 1; i <= n_later; i++) {
            split(later[i], field, "|")
            entry(field[1], turn == 1 ? "MPIX_" : "MPI_", field[2], "later", field[3])
        }
    }
    print "#endif\n"
    print "const char *const nf_names[] = {\n" names "};"
    print "const char nf_classes[] = {" classes "};"
    print "const int nf_n_calls = " n_calls ";"
}
