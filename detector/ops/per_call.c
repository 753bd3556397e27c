#include "detector/ops/per_call.h"
#include "detector/ops/algorithms.h"

#include <ctype.h>
#include <string.h>

#include "detector/ops/ops.h"

enum { NAME_BYTES = 128, TEXT_BYTES = 8192 };
enum { PER_COLLECTIVE = 2 }; /* of MPIR_CVAR_DEVICE_COLLECTIVES: each operation has a variable of its own */
enum { FAILS = 0 };          /* of MPIR_CVAR_COLLECTIVE_FALLBACK */

static void variable_of(const char *operation, const char *end, char name[NAME_BYTES]) {
    snprintf(name, NAME_BYTES, "MPIR_CVAR_%s_%s", operation, end);
    for (char *c = name; *c; c++)
        *c = (char)toupper((unsigned char)*c);
}

static int open_variable(const char *name, MPI_T_cvar_handle *handle, int *value) {
    int index, count = 0;
    if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS ||
        MPI_T_cvar_handle_alloc(index, NULL, handle, &count) != MPI_SUCCESS)
        return -1;
    if (count == 1 && MPI_T_cvar_read(*handle, value) == MPI_SUCCESS) return 0;
    MPI_T_cvar_handle_free(handle);
    return -1;
}

/* What a variable of whole numbers has; `missing` where there is none. */
static int value_of(const char *name, int missing) {
    MPI_T_cvar_handle handle;
    int value;
    if (open_variable(name, &handle, &value)) return missing;
    MPI_T_cvar_handle_free(&handle);
    return value;
}

/* The description of the operation's variable. 0, -1: there is none of whole numbers. */
static int describe(const char *operation, char text[TEXT_BYTES]) {
    char name[NAME_BYTES];
    int index, verbosity, binding, scope, length = TEXT_BYTES, name_length = 0;
    MPI_Datatype type;
    variable_of(operation, "INTRA_ALGORITHM", name);
    if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS) return -1;
    if (MPI_T_cvar_get_info(index, NULL, &name_length, &verbosity, &type, NULL, text, &length, &binding,
                            &scope) != MPI_SUCCESS)
        return -1;
    return type == MPI_INT && binding == MPI_T_BIND_NO_OBJECT ? 0 : -1;
}

/* The next name of a description, whose lines "name - what it is" are in the order of their numbers. Moves
 * *text behind it; 0: no more. */
static int next_name(const char **text, char name[ND_PER_CALL_NAME_BYTES]) {
    while (**text) {
        const char *line = *text, *end = line + strcspn(line, "\n");
        size_t n = strspn(line, "abcdefghijklmnopqrstuvwxyz0123456789_"), blanks = strspn(line + n, " ");
        *text = *end ? end + 1 : end;
        if (n == 0 || n >= ND_PER_CALL_NAME_BYTES || blanks == 0 || line[n + blanks] != '-') continue;
        snprintf(name, ND_PER_CALL_NAME_BYTES, "%.*s", (int)n, line);
        return 1;
    }
    return 0;
}

/* Nobody can have these by a variable alone: smp forces itself upon its own parts, where it cannot be, and
 * ccl is of GPUs. */
static int is_left_out(const char *name) { return strcmp(name, "smp") == 0 || strcmp(name, "ccl") == 0; }

/* The number of an algorithm; -1: there is none, and `names` says which there are. */
static int number_of(const char *text, const char *algorithm, char *names, size_t size) {
    char name[ND_PER_CALL_NAME_BYTES];
    size_t used = 0;
    names[0] = '\0';
    for (int k = 0; next_name(&text, name); k++) {
        if (is_left_out(name)) continue;
        if (strcmp(name, algorithm) == 0) return k;
        if (used < size) used += (size_t)snprintf(names + used, size - used, "%s%s", used ? ", " : "", name);
    }
    return -1;
}

/* Adds a variable that is to hold `value`, if it takes it. 0, -1. */
static int hold(struct nd_held *h, const char *name, int value) {
    int found = ~value;
    if (open_variable(name, &h->handle, &h->usual)) return -1;
    h->value = value;
    int failed = MPI_T_cvar_write(h->handle, &value) != MPI_SUCCESS ||
                 MPI_T_cvar_read(h->handle, &found) != MPI_SUCCESS || found != value;
    if (!failed) failed = MPI_T_cvar_write(h->handle, &h->usual) != MPI_SUCCESS;
    if (failed) MPI_T_cvar_handle_free(&h->handle);
    return failed ? -1 : 0;
}

int nd_per_call_open(const struct nd_op *op, const char *algorithm, struct nd_per_call *p, int *number,
                     char *reason, size_t reason_size) {
    char text[TEXT_BYTES], names[512], name[NAME_BYTES], device[NAME_BYTES];
    *p = (struct nd_per_call){0};
    if (op->completion != ND_BLOCKING || describe(op->name, text)) return 0;
    variable_of(op->name, "INTRA_ALGORITHM", name);
    variable_of(op->name, "DEVICE_COLLECTIVE", device);
    *number = 0;
    p->can_insist = hold(&p->held[ND_PER_CALL_VARIABLES], "MPIR_CVAR_COLLECTIVE_FALLBACK", FAILS) == 0;
    if (strcmp(algorithm, "default") == 0) return 1;
    *number = number_of(text, algorithm, names, sizeof names);
    if (*number < 0)
        snprintf(reason, reason_size, "--op: %s has no algorithm '%s' in this MPI library (it has %s)",
                 op->name, algorithm, names);
    else if (value_of("MPIR_CVAR_DEVICE_COLLECTIVES", PER_COLLECTIVE) != PER_COLLECTIVE)
        snprintf(reason, reason_size,
                 "--op: MPIR_CVAR_DEVICE_COLLECTIVES is not percoll in this environment, so that no "
                 "algorithm can be chosen (unset it)");
    else if (hold(&p->held[0], name, *number) == 0) {
        p->n = 1;
        if (hold(&p->held[1], device, 0) == 0)
            p->n = ND_PER_CALL_VARIABLES;
        else
            snprintf(reason, reason_size, "--op: this MPI library does not take 0 for %s", device);
    } else
        snprintf(reason, reason_size, "--op: this MPI library does not take %d for %s", *number, name);
    if (p->n == ND_PER_CALL_VARIABLES) return 1;
    nd_per_call_close(p);
    return -1;
}

void nd_per_call_close(struct nd_per_call *p) {
    for (int i = 0; i < p->n; i++)
        MPI_T_cvar_handle_free(&p->held[i].handle);
    if (p->can_insist) MPI_T_cvar_handle_free(&p->held[ND_PER_CALL_VARIABLES].handle);
    *p = (struct nd_per_call){0};
}

void nd_per_call_begin(const struct nd_per_call *p) {
    for (int i = 0; p && i < p->n; i++)
        MPI_T_cvar_write(p->held[i].handle, &p->held[i].value);
}

void nd_per_call_end(const struct nd_per_call *p) {
    for (int i = 0; p && i < p->n; i++)
        MPI_T_cvar_write(p->held[i].handle, &p->held[i].usual);
}

/* What the variables say now. */
static void chosen(const struct nd_op *op, char *name) {
    char text[TEXT_BYTES], device[NAME_BYTES], variable[NAME_BYTES];
    variable_of(op->name, "INTRA_ALGORITHM", variable);
    variable_of(op->name, "DEVICE_COLLECTIVE", device);
    const char *rest = text;
    int number = value_of(variable, 0), is_chosen = !value_of(device, 1) && !describe(op->name, text);
    for (int k = 0; is_chosen && next_name(&rest, name); k++)
        if (k == number) return;
    snprintf(name, ND_PER_CALL_NAME_BYTES, "%s", is_chosen ? "" : "default");
}

int nd_per_call_acts(const struct nd_per_call *p, struct nd_op_state *s, char *name) {
    const struct nd_held *insist = &p->held[ND_PER_CALL_VARIABLES];
    int failed, any_failed = 0;
    MPI_Comm_set_errhandler(s->comm, MPI_ERRORS_RETURN);
    nd_per_call_begin(p);
    chosen(s->op, name);
    if (p->can_insist) MPI_T_cvar_write(insist->handle, &insist->value);
    failed = s->call(s) != MPI_SUCCESS;
    if (p->can_insist) MPI_T_cvar_write(insist->handle, &insist->usual);
    nd_per_call_end(p);
    MPI_Comm_set_errhandler(s->comm, MPI_ERRORS_ARE_FATAL);
    MPI_Allreduce(&failed, &any_failed, 1, MPI_INT, MPI_MAX, s->comm);
    if (any_failed) name[0] = '\0';
    return !any_failed;
}

int nd_per_call_print(const struct nd_op *op, FILE *out) {
    char text[TEXT_BYTES], name[ND_PER_CALL_NAME_BYTES];
    const char *rest = text;
    int n = 0;
    if (op->completion != ND_BLOCKING || describe(op->name, text)) return 0;
    while (next_name(&rest, name))
        if (!is_left_out(name)) n += fprintf(out, "%s,%s\n", op->name, name) > 0;
    return n;
}
