#include "detector/ops/algorithms.h"
#include "detector/ops/per_call.h"

enum { NAME_BYTES = 128 };
static const char *const dynamic_rules = "coll_tuned_use_dynamic_rules";

void nd_algorithms_prepare(void) { setenv("OMPI_MCA_coll_tuned_use_dynamic_rules", "1", 0); }

/* A control variable of whole numbers. */
struct variable {
    int index;
    MPI_T_enum values; /* MPI_T_ENUM_NULL: no names */
    int is_fixed;      /* while the program runs (allgatherv of 4.1) */
};

static int find_variable(const char *name, struct variable *v) {
    int verbosity, binding, scope, name_length = 0, desc_length = 0;
    MPI_Datatype type;
    if (MPI_T_cvar_get_index(name, &v->index) != MPI_SUCCESS) return -1;
    int rc = MPI_T_cvar_get_info(v->index, NULL, &name_length, &verbosity, &type, &v->values, NULL,
                                 &desc_length, &binding, &scope);
    v->is_fixed = scope == MPI_T_SCOPE_CONSTANT || scope == MPI_T_SCOPE_READONLY;
    return rc == MPI_SUCCESS && binding == MPI_T_BIND_NO_OBJECT ? 0 : -1;
}

static void variable_of(const char *operation, char name[NAME_BYTES]) {
    snprintf(name, NAME_BYTES, "coll_tuned_%s_algorithm", operation);
}

/* The k-th name of an enumerator, and its number; -1: there is none. */
static int name_at(const struct variable *v, int k, char name[NAME_BYTES], int *value) {
    int length = NAME_BYTES;
    name[0] = '\0';
    return MPI_T_enum_get_item(v->values, k, value, name, &length) == MPI_SUCCESS ? 0 : -1;
}

static int n_names(const struct variable *v) {
    int n = 0, length = 0;
    if (v->values == MPI_T_ENUM_NULL || MPI_T_enum_get_info(v->values, &n, NULL, &length) != MPI_SUCCESS)
        return 0;
    return n;
}

/* The number of an algorithm; -1: there is none, and `names` says which there are. 0 is the library's own
 * choice. */
static int number_of(const struct variable *v, const char *algorithm, char *names, size_t names_size) {
    char name[NAME_BYTES];
    int value, n = n_names(v);
    size_t used = 0;
    names[0] = '\0';
    if (strcmp(algorithm, "default") == 0) return 0;
    for (int k = 0; k < n; k++) {
        if (name_at(v, k, name, &value) || value == 0) continue;
        if (strcmp(name, algorithm) == 0) return value;
        if (used < names_size)
            used += (size_t)snprintf(names + used, names_size - used, "%s%s", used ? ", " : "", name);
    }
    return -1;
}

/* Writes a number and reads it back: libraries may take a value and ignore it. */
static int write_variable(const struct variable *v, int value) {
    MPI_T_cvar_handle handle;
    int count = 0, found = ~value;
    if (MPI_T_cvar_handle_alloc(v->index, NULL, &handle, &count) != MPI_SUCCESS) return -1;
    int failed = count != 1 || MPI_T_cvar_write(handle, &value) != MPI_SUCCESS ||
                 MPI_T_cvar_read(handle, &found) != MPI_SUCCESS;
    MPI_T_cvar_handle_free(&handle);
    return failed || found != value ? -1 : 0;
}

static int is_switched_on(const char *name) {
    struct variable v;
    MPI_T_cvar_handle handle;
    int count = 0, value[8] = {0};
    if (find_variable(name, &v) || MPI_T_cvar_handle_alloc(v.index, NULL, &handle, &count) != MPI_SUCCESS)
        return 0;
    int is_on =
        count == 1 && MPI_T_cvar_read(handle, value) == MPI_SUCCESS && *(const unsigned char *)value != 0;
    MPI_T_cvar_handle_free(&handle);
    return is_on;
}

/* This rank's part: the variable holds the algorithm. 0, -1 with a reason. */
static int choose(const struct nd_op *op, const char *algorithm, struct variable *v, int *number,
                  char *reason, size_t size) {
    char name[NAME_BYTES], names[512];
    variable_of(op->name, name);
    if (find_variable(name, v) || n_names(v) == 0 || v->is_fixed)
        return nl_say(reason, size,
                      "--op: this MPI library lets nobody choose the algorithm of %s (no control variable %s "
                      "that can be written)",
                      op->name, name);
    if (!is_switched_on(dynamic_rules))
        return nl_say(reason, size,
                      "--op: %s is off in this environment, so that no algorithm can be chosen (unset it)",
                      dynamic_rules);
    *number = number_of(v, algorithm, names, sizeof names);
    if (*number < 0)
        return nl_say(reason, size, "--op: %s has no algorithm '%s' in this MPI library (it has %s)",
                      op->name, algorithm, names);
    if (write_variable(v, *number) == 0) return 0;
    return nl_say(reason, size, "--op: this MPI library does not take %d for %s", *number, name);
}

/* A duplicate on which the variable's algorithm runs, without Open MPI 5's component han, which is before
 * tuned. 0, -1. Collective. */
static int duplicate(MPI_Comm from, int number, MPI_Comm *comm) {
    MPI_Info info;
    if (number == 0) return MPI_Comm_dup(from, comm) == MPI_SUCCESS ? 0 : -1;
    if (MPI_Info_create(&info) != MPI_SUCCESS) return -1;
    MPI_Info_set(info, "ompi_comm_coll_preference", "^han");
    int failed = MPI_Comm_dup_with_info(from, info, comm) != MPI_SUCCESS;
    MPI_Info_free(&info);
    return failed ? -1 : 0;
}

int nd_algorithm_open(const struct nd_op *op, const char *name, MPI_Comm from, struct nd_algorithm *a,
                      char *reason, size_t reason_size) {
    struct variable v;
    int provided, failed, any_failed;
    *a = (struct nd_algorithm){.comm = MPI_COMM_NULL};
    reason[0] = '\0';
    failed = MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS;
    if (failed) snprintf(reason, reason_size, "--op: this MPI library's control variables cannot be read");
    int has_tool = !failed;
    int found = has_tool ? nd_per_call_open(op, name, &a->per_call, &a->number, reason, reason_size) : 0;
    a->is_per_call = found > 0;
    if (has_tool)
        failed = found < 0 || (found == 0 && choose(op, name, &v, &a->number, reason, reason_size) != 0);
    MPI_Allreduce(&failed, &any_failed, 1, MPI_INT, MPI_MAX, from);
    if (any_failed && !failed)
        snprintf(reason, reason_size, "--op: %s=%s cannot be chosen on another rank", op->name, name);
    if (!any_failed) any_failed = duplicate(from, a->is_per_call ? 0 : a->number, &a->comm) != 0;
    /* communicators that are made later, also inside the library, choose for themselves */
    if (!failed && !a->is_per_call) write_variable(&v, 0);
    if (!any_failed) return 0;
    nd_per_call_close(&a->per_call);
    if (has_tool) MPI_T_finalize();
    return -1;
}

void nd_algorithm_close(struct nd_algorithm *a) {
    if (a->comm == MPI_COMM_NULL) return;
    nd_per_call_close(&a->per_call);
    MPI_Comm_free(&a->comm);
    MPI_T_finalize();
}

static int64_t ranks_below(int n_ranks) {
    int64_t power = 1;
    while (2 * power <= n_ranks)
        power *= 2;
    return power;
}

static int is_fewer_than_ranks(int64_t count, int n_ranks) { return count < n_ranks; }
static int is_fewer_than_power(int64_t count, int n_ranks) { return count < ranks_below(n_ranks); }
static int always(int64_t count, int n_ranks) { return (void)count, (void)n_ranks, 1; }
static int is_not_two(int64_t count, int n_ranks) { return (void)count, n_ranks != 2; }
static int is_odd(int64_t count, int n_ranks) { return (void)count, n_ranks % 2; }
static int is_no_power(int64_t count, int n_ranks) { return (void)count, ranks_below(n_ranks) != n_ranks; }

static const struct trap {
    const char *operation, *algorithm;
    int (*holds)(int64_t count, int n_ranks);
    const char *in_fact; /* NULL: the call fails */
} traps[] = {
    {"allreduce", "ring", is_fewer_than_ranks, "recursive_doubling"},
    {"allreduce", "segmented_ring", is_fewer_than_ranks, "recursive_doubling"},
    {"allreduce", "segmented_ring", always, "ring"},
    {"allreduce", "rabenseifner", is_fewer_than_power, "basic_linear"},
    {"reduce", "rabenseifner", is_fewer_than_power, "linear"},
    {"bcast", "scatter_allgather", is_fewer_than_ranks, "basic_linear"},
    {"bcast", "scatter_allgather_ring", is_fewer_than_ranks, "basic_linear"},
    {"barrier", "two_proc", is_not_two, NULL},
    {"alltoall", "two_proc", is_not_two, NULL},
    {"allgather", "two_proc", is_not_two, NULL},
    {"allgatherv", "two_proc", is_not_two, NULL},
    {"allgather", "neighbor", is_odd, "ring"},
    {"allgatherv", "neighbor", is_odd, "ring"},
    {"allgather", "recursive_doubling", is_no_power, "bruck"},
};

const char *nd_algorithm_in_fact(const char *operation, const char *algorithm, int64_t count, int n_ranks) {
    for (size_t i = 0; i < sizeof traps / sizeof *traps; i++) {
        const struct trap *t = &traps[i];
        if (strcmp(t->operation, operation) == 0 && strcmp(t->algorithm, algorithm) == 0 &&
            t->holds(count, n_ranks))
            return t->in_fact;
    }
    return algorithm;
}

int nd_algorithms_foreign_rules(char *line, size_t size) {
    static const char mark[] = "holds for ";
    const char *name = getenv("OMPI_MCA_coll_tuned_dynamic_rules_filename");
    char first[512] = "", version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length;
    FILE *file = name && *name ? fopen(name, "re") : NULL;
    if (!file) return 0;
    const char *found = fgets(first, sizeof first, file) ? strstr(first, mark) : NULL;
    fclose(file);
    if (!found) return 0;
    found += sizeof mark - 1;
    MPI_Get_library_version(version, &length);
    size_t n = strcspn(found, ";\n"), n_here = strcspn(version, ",\n");
    if (n == n_here && strncmp(found, version, n) == 0) return 0;
    snprintf(line, size,
             "the rules of '%.200s' hold for %.*s, and this is %.*s: they may not act, or for other "
             "algorithms (noiselab run advise)",
             name, n > 100 ? 100 : (int)n, found, n_here > 100 ? 100 : (int)n_here, version);
    return 1;
}

int nd_algorithms_print(FILE *out, char *reason, size_t reason_size) {
    int provided, n_rows = 0;
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS)
        return nl_say(reason, reason_size, "this MPI library's control variables cannot be read");
    fputs("operation,algorithm\n", out);
    for (const struct nd_op *const *op = nd_ops; *op; op++) {
        char name[NAME_BYTES];
        struct variable v;
        int value;
        n_rows += nd_per_call_print(*op, out);
        variable_of((*op)->name, name);
        if (find_variable(name, &v) || v.is_fixed) continue;
        for (int k = 0, n = n_names(&v); k < n; k++)
            if (name_at(&v, k, name, &value) == 0 && value != 0)
                n_rows += fprintf(out, "%s,%s\n", (*op)->name, name) > 0;
    }
    MPI_T_finalize();
    if (n_rows) return 0;
    return nl_say(reason, reason_size, "this MPI library lets nobody choose algorithms by control variables");
}
