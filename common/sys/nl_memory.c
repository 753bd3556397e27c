#include "common/sys/nl_memory.h"
#include "common/sys/nl_stat.h"
#include "common/sys/nl_cgroup.h"
#include "common/sys/nl_whole.h"

/* The number in a file that holds nothing else; -1 when there is no such file or number ("max"). */
static int64_t number_in(const char *folder, const char *name) {
    char path[PATH_MAX], text[64];
    int64_t value;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path) return -1;
    return nl_read(path, text, sizeof text) > 0 && sscanf(text, "%" SCNd64, &value) == 1 ? value : -1;
}

/* The number behind a word in a file of lines "word number"; -1 when it is not there. */
static int64_t number_of(const char *path, const char *word) {
    char line[256], name[128];
    int64_t found = -1, value;
    FILE *f = fopen(path, "re");
    if (!f) return -1;
    while (found < 0 && fgets(line, sizeof line, f))
        if (sscanf(line, "%127s %" SCNd64, name, &value) == 2 && strcmp(name, word) == 0) found = value;
    fclose(f);
    return found;
}

/* Where the two versions of cgroups keep the same numbers. */
struct cgroup_version {
    const char *controller; /* in /proc/self/cgroup; "" is version 2 */
    const char *limit, *usage, *inactive_file, *active_file;
};

static const struct cgroup_version cgroup_versions[] = {
    {"", "memory.max", "memory.current", "inactive_file", "active_file"},
    {"memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", "total_active_file"},
};

/* What one cgroup leaves: its limit less what is used and is not file cache, which gives way. -1: no limit.
 */
static int64_t left_in(const char *folder, const struct cgroup_version *version) {
    char path[PATH_MAX];
    int64_t limit = number_in(folder, version->limit), usage = number_in(folder, version->usage);
    if (limit < 0 || usage < 0) return -1;
    if ((size_t)snprintf(path, sizeof path, "%s/memory.stat", folder) >= sizeof path) return -1;
    int64_t inactive = number_of(path, version->inactive_file),
            active = number_of(path, version->active_file);
    int64_t left = limit - usage + (inactive > 0 ? inactive : 0) + (active > 0 ? active : 0);
    return left > 0 ? left : 0;
}

static int64_t lesser(int64_t a, int64_t b) {
    if (a < 0) return b;
    return b >= 0 && b < a ? b : a;
}

struct least {
    const struct cgroup_version *version;
    int64_t bytes; /* -1: no limit */
};

static void look(void *context, const char *folder, int depth) {
    struct least *least = context;
    (void)depth;
    least->bytes = lesser(least->bytes, left_in(folder, least->version));
}

/* The least that any of our cgroups, or one above it, leaves; -1: no limit. */
static int64_t left_in_cgroups(void) {
    struct least least = {.bytes = -1};
    for (size_t i = 0; i < sizeof cgroup_versions / sizeof *cgroup_versions; i++) {
        least.version = &cgroup_versions[i];
        nl_cgroup_each_up("", getpid(), least.version->controller, look, &least);
    }
    return least.bytes;
}

int64_t nl_memory_available(void) {
    int64_t machine_kb = number_of("/proc/meminfo", "MemAvailable:");
    return lesser(machine_kb < 0 ? -1 : machine_kb * 1024, left_in_cgroups());
}
