#include "detector/nodes/provenance.h"
#include "detector/nodes/switches.h"

#include <mpi.h>
#include <sys/utsname.h>

#include "common/base/nl_json.h"
#include "common/sys/nl_place.h"
#include "common/sys/nl_whole.h"

extern char **environ;

/* The value behind `key` on the first line of a file that begins with it (after blanks, = and :). */
static void find_value(const char *path, const char *key, char *out, size_t size) {
    char line[512];
    out[0] = '\0';
    FILE *f = fopen(path, "r");
    if (!f) return;
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, key, strlen(key)) != 0) continue;
        char *value = line + strlen(key);
        value += strspn(value, " \t:=");
        value[strcspn(value, "\n")] = '\0';
        snprintf(out, size, "%.*s", (int)size - 1, value);
        break;
    }
    fclose(f);
}

/* How the kernel ticks: from its build configuration where the distribution leaves it in /boot. */
static void read_tick(char *out, size_t size) {
    struct utsname u;
    char path[256], hz[32], idle[8], periodic[8];
    out[0] = '\0';
    if (uname(&u)) return;
    snprintf(path, sizeof path, "/boot/config-%s", u.release);
    find_value(path, "CONFIG_HZ=", hz, sizeof hz);
    find_value(path, "CONFIG_NO_HZ_IDLE=", idle, sizeof idle);
    find_value(path, "CONFIG_HZ_PERIODIC=", periodic, sizeof periodic);
    if (!hz[0]) return;
    snprintf(out, size, "%s Hz%s", hz,
             periodic[0] == 'y' ? ", periodic"
             : idle[0] == 'y'   ? ", stopped when idle"
                                : ", NO_HZ_FULL build");
}

void nd_host_read(struct nd_host *h) {
    struct utsname u;
    struct nl_place *place;
    memset(h, 0, sizeof *h);
    gethostname(h->host, sizeof h->host - 1);
    if (uname(&u) == 0)
        snprintf(h->kernel, sizeof h->kernel, "%.40s %.60s %.20s", u.sysname, u.release, u.machine);
    nl_read_line("/sys/devices/system/cpu/isolated", h->isolcpus, sizeof h->isolcpus);
    nl_read_line("/sys/devices/system/cpu/nohz_full", h->nohz_full, sizeof h->nohz_full);
    nl_read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", h->governor, sizeof h->governor);
    find_value("/proc/self/status", "Cpus_allowed_list", h->cpuset, sizeof h->cpuset);
    find_value("/proc/cpuinfo", "model name", h->cpu_model, sizeof h->cpu_model);
    read_tick(h->tick, sizeof h->tick);
    nd_switches_read(getenv("SLURM_TOPOLOGY_ADDR"), getenv("SLURM_TOPOLOGY_ADDR_PATTERN"),
                     getenv("SLURMD_NODENAME"), h->switches, sizeof h->switches);
    nl_clocksource(h->clocksource, sizeof h->clocksource);
    nl_quota_open(&h->quota, "", getpid());
    nl_quota_close(&h->quota);
    if (nl_place_open(&place)) return;
    nl_place_summary(place, h->topology, sizeof h->topology);
    nl_place_list(place, h->cpuset, sizeof h->cpuset);
    h->smt = nl_place_smt(place);
    h->n_allowed = nl_place_count(place);
    nl_place_close(place);
}

int64_t nd_peak_memory_kib(void) {
    char text[32];
    find_value("/proc/self/status", "VmHWM:", text, sizeof text);
    return text[0] ? strtoll(text, NULL, 10) : -1;
}

void nd_binding_read(struct nd_binding *s, int rank) {
    int n_cpus = 0;
    memset(s, 0, sizeof *s);
    s->rank = rank;
    s->pid = (int)getpid();
    s->cpu = s->first_cpu = -1;
    gethostname(s->host, sizeof s->host - 1);
    if (nl_binding_of_thread(s->cpus, sizeof s->cpus, &n_cpus, &s->first_cpu) == 0 && n_cpus == 1)
        s->cpu = s->first_cpu;
}

/* jansson refuses text that is not UTF-8; an unknown value is better than no record. */
static json_t *text_or_null(const char *text) {
    json_t *json = text[0] ? json_string(text) : NULL;
    return json ? json : json_null();
}

static json_t *quota_json(const struct nl_quota *q) {
    if (q->quota_ns == 0) return json_null();
    return json_pack("{s:f, s:I, s:I, s:i, s:o}", "cpus", nl_quota_cpus(q), "quota_ns",
                     (json_int_t)q->quota_ns, "period_ns", (json_int_t)q->period_ns, "above", q->depth,
                     "group", text_or_null(q->group));
}

json_t *nd_host_json(const struct nd_host *h) {
    return json_pack("{s:s, s:i, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                     "host", h->host, "ranks", h->n_ranks, "treated", h->is_treated, "agent", h->has_agent,
                     "kernel", text_or_null(h->kernel), "cmdline_isolcpus", text_or_null(h->isolcpus),
                     "nohz_full", text_or_null(h->nohz_full), "tick", text_or_null(h->tick), "clocksource",
                     text_or_null(h->clocksource), "governor", text_or_null(h->governor), "smt",
                     h->smt ? json_integer(h->smt) : json_null(), "cpuset", text_or_null(h->cpuset),
                     "topology", text_or_null(h->topology), "cpus",
                     h->n_allowed ? json_integer(h->n_allowed) : json_null(), "cpu_model",
                     text_or_null(h->cpu_model), "switch", text_or_null(h->switches), "cpu_quota",
                     quota_json(&h->quota));
}

json_t *nd_binding_json(const struct nd_binding *s) {
    return json_pack("{s:i, s:s, s:i, s:s}", "rank", s->rank, "host", s->host, "cpu", s->cpu, "binding",
                     s->cpus);
}

/* Environment variables by prefix; their values are text and go nowhere but into the record. */
static json_t *environment_json(const char *const *prefixes) {
    json_t *found = json_object();
    for (char **e = environ; *e; e++)
        for (const char *const *p = prefixes; *p; p++) {
            const char *equals = strchr(*e, '=');
            if (!equals || strncmp(*e, *p, strlen(*p)) != 0) continue;
            /* a folder that noiselab run made for this launch alone says nothing of how it was measured */
            if (strncmp(equals, "=/dev/shm/noiselab.", 19) == 0) break;
            char name[256];
            snprintf(name, sizeof name, "%.*s", (int)(equals - *e), *e);
            json_object_set_new(found, name, text_or_null(equals + 1));
            break;
        }
    return found;
}

/* The value of a control variable of whole numbers: int, or (sizes) as wide as a size_t. 0, -1 where it is
 * none. */
static int read_tool_variable(MPI_T_cvar_handle handle, MPI_Datatype type, json_int_t *value) {
    int number = 0;
    size_t size = 0;
    if (type != MPI_INT && type != MPI_UNSIGNED_LONG && type != MPI_UNSIGNED_LONG_LONG) return -1;
    if (MPI_T_cvar_read(handle, type == MPI_INT ? (void *)&number : &size) != MPI_SUCCESS) return -1;
    *value = type == MPI_INT ? number : (json_int_t)size;
    return 0;
}

/* Adds a control variable of the MPI library, where it has one of that name and of whole numbers. */
static void add_tool_variable(json_t *object, const char *name) {
    int index, verbosity, binding, scope, count = 0, name_length = 0, desc_length = 0;
    json_int_t value;
    MPI_Datatype type;
    MPI_T_enum values;
    MPI_T_cvar_handle handle;
    if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS) return;
    if (MPI_T_cvar_get_info(index, NULL, &name_length, &verbosity, &type, &values, NULL, &desc_length,
                            &binding, &scope) != MPI_SUCCESS)
        return;
    if (binding != MPI_T_BIND_NO_OBJECT ||
        MPI_T_cvar_handle_alloc(index, NULL, &handle, &count) != MPI_SUCCESS)
        return;
    if (count == 1 && read_tool_variable(handle, type, &value) == 0)
        json_object_set_new(object, name, json_integer(value));
    MPI_T_cvar_handle_free(&handle);
}

/* Who carries messages in Open MPI, up to which size at once, by how many buffers. What is not used has no
 * variables any more. */
static void add_eager_limits(json_t *object) {
    static const char *const transports[] = {"vader", "sm", "tcp", "ofi", "uct", "openib", NULL};
    static const char *const words[] = {"eager_limit", "free_list_num", "free_list_max", NULL};
    static const char *const layers[] = {"ob1", "ucx", "cm", NULL};
    for (const char *const *t = transports; *t; t++)
        for (const char *const *w = words; *w; w++) {
            char name[64];
            snprintf(name, sizeof name, "btl_%s_%s", *t, *w);
            add_tool_variable(object, name);
        }
    for (const char *const *p = layers; *p; p++) {
        char name[64];
        int index;
        snprintf(name, sizeof name, "pml_%s_verbose", *p);
        if (MPI_T_cvar_get_index(name, &index) == MPI_SUCCESS)
            json_object_set_new(object, "pml", json_string(*p));
    }
}

json_t *nd_mpi_json(const char *const *operations, int n_operations) {
    static const char *const prefixes[] = {"OMPI_MCA_coll",
                                           "OMPI_MCA_btl",
                                           "OMPI_MCA_pml",
                                           "OMPI_MCA_mtl",
                                           "OMPI_MCA_mpi_",
                                           "OMPI_MCA_rmaps",
                                           "MPIR_CVAR_",
                                           "MPIR_PARAM_",
                                           "UCX_",
                                           "UCC_",
                                           "I_MPI_",
                                           "FI_",
                                           NULL};
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0, provided;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, "\n")] = '\0';
    const char *library = strstr(version, "Open MPI") ? "Open MPI"
                          : strstr(version, "MPICH")  ? "MPICH"
                                                      : "other";
    json_t *parameters = environment_json(prefixes);
    if (MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) == MPI_SUCCESS) {
        add_tool_variable(parameters, "coll_tuned_use_dynamic_rules");
        for (int i = 0; i < n_operations; i++) {
            char name[96];
            snprintf(name, sizeof name, "coll_tuned_%s_algorithm", operations[i]);
            add_tool_variable(parameters, name);
            snprintf(name, sizeof name, "MPIR_CVAR_%s_INTRA_ALGORITHM", operations[i]);
            for (char *c = name; *c; c++)
                *c = (char)toupper((unsigned char)*c);
            add_tool_variable(parameters, name);
        }
        add_eager_limits(parameters);
        MPI_T_finalize();
    }
    return json_pack("{s:s, s:s, s:o}", "library", library, "version", version, "parameters", parameters);
}

/* Which process manager speaks with the MPI library; NULL: not known. What srun starts leaves marks. */
static const char *mpi_type(void) {
    const char *told = getenv("SLURM_MPI_TYPE");
    return told                       ? told
           : getenv("PMIX_NAMESPACE") ? "pmix"
           : getenv("PMI_JOBID")      ? "pmi2"
           : getenv("PMI_FD")         ? "pmi"
                                      : NULL;
}

json_t *nd_slurm_json(void) {
    static const char *const names[] = {
        "SLURM_JOB_ID",        "SLURM_ARRAY_JOB_ID",   "SLURM_ARRAY_TASK_ID", "SLURM_STEP_ID",
        "SLURM_RESTART_COUNT", "SLURM_CLUSTER_NAME",   "SLURM_JOB_PARTITION", "SLURM_JOB_NODELIST",
        "SLURM_STEP_NODELIST", "SLURM_TASKS_PER_NODE", "SLURM_CPUS_PER_TASK", "SRUN_CPUS_PER_TASK",
        "SLURM_CORE_SPEC",     "SLURM_HINT",           "SLURM_CPU_BIND",      NULL};
    json_t *found = json_object();
    for (const char *const *n = names; *n; n++)
        if (getenv(*n)) json_object_set_new(found, *n, text_or_null(getenv(*n)));
    if (json_object_size(found) == 0) {
        json_decref(found);
        return json_null();
    }
    /* how often Slurm samples the tasks' accounts: what a runner that asked for it says, else what srun was
     * told */
    const char *type = mpi_type(), *told = getenv("NOISELAB_ACCTG_FREQ"),
               *sampling = told ? told : getenv("SLURM_ACCTG_FREQ");
    nl_json_set(found, "mpi_type", text_or_null(type ? type : ""), "account_sampling",
                text_or_null(sampling ? sampling : ""), NULL);
    return found;
}

enum { VALUE_BYTES = 160, MOST_VALUES = 64, NAMED_HOSTS = 6 };

/* Everything that is compared: texts, and numbers above 0. */
static const struct property {
    const char *name;
    size_t at;
    int is_number;
} properties[] = {
    {"CPU model", offsetof(struct nd_host, cpu_model), 0},
    {"CPUs", offsetof(struct nd_host, n_allowed), 1},
    {"hardware threads per core", offsetof(struct nd_host, smt), 1},
    {"kernel", offsetof(struct nd_host, kernel), 0},
    {"ranks", offsetof(struct nd_host, n_ranks), 1},
};

/* As a text, in `buf` or the host's own; "" where it is not known. */
static const char *value_of(const struct property *p, const struct nd_host *h, char buf[VALUE_BYTES]) {
    const char *at = (const char *)h + p->at;
    const int *number = (const int *)(const void *)at;
    if (!p->is_number) return at;
    snprintf(buf, *number > 0 ? VALUE_BYTES : 1, "%d", *number);
    return buf;
}

/* The value that most hosts have, the first of equally common ones; NULL: all known ones are equal. At most
 * MOST_VALUES are counted. */
static const char *most_common(const struct property *p, const struct nd_host *hosts, int n_hosts,
                               char buf[VALUE_BYTES]) {
    int first[MOST_VALUES], counts[MOST_VALUES] = {0}, n = 0, best = 0;
    for (int i = 0; i < n_hosts; i++) {
        char value[VALUE_BYTES], other[VALUE_BYTES];
        const char *mine = value_of(p, &hosts[i], value);
        int k = 0;
        if (!mine[0]) continue;
        while (k < n && strcmp(value_of(p, &hosts[first[k]], other), mine) != 0)
            k++;
        if (k == MOST_VALUES) continue;
        if (k == n) first[n++] = i;
        counts[k]++;
    }
    for (int k = 1; k < n; k++)
        if (counts[k] > counts[best]) best = k;
    return n > 1 ? value_of(p, &hosts[first[best]], buf) : NULL;
}

int nd_unlike_describe(const struct nd_host *hosts, int n_hosts, char *line, size_t size) {
    int n_unlike = 0;
    size_t used = 0;
    line[0] = '\0';
#define SAY(...) (used += used < size ? (size_t)snprintf(line + used, size - used, __VA_ARGS__) : 0)
    for (size_t k = 0; k < sizeof properties / sizeof *properties; k++) {
        char buf[VALUE_BYTES], other[VALUE_BYTES];
        const char *usual = most_common(&properties[k], hosts, n_hosts, buf);
        int n_others = 0;
        if (!usual) continue;
        SAY("%s%s: %s, but ", n_unlike++ ? "; " : "", properties[k].name, usual);
        for (int i = 0; i < n_hosts; i++) {
            const char *value = value_of(&properties[k], &hosts[i], other);
            if (!value[0] || strcmp(value, usual) == 0) continue;
            if (n_others++ < NAMED_HOSTS) SAY("%s%s on %s", n_others > 1 ? ", " : "", value, hosts[i].host);
        }
        if (n_others > NAMED_HOSTS) SAY(" and another on %d more", n_others - NAMED_HOSTS);
    }
#undef SAY
    return n_unlike;
}
