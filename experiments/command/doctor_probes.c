/* What noiselab doctor looks at. */
#include <jansson.h>

#include "experiments/command/doctor_probes.h"
#include "noisegen/kinds/kinds.h"
#include "common/sys/nl_place.h"
#include "common/sys/nl_preempted.h"
#include "common/sys/nl_cgroup.h"
#include "detector/nodes/quiet.h"
#include "noisegen/recorder/recorder.h"
#include "common/sys/nl_whole.h"
#include "experiments/command/run_command.h"

enum { LAUNCH_S = 60, R_S = 60, SLURM_S = 10, LOOK_S = 1, TEXT_BYTES = 4096 };

#define SAY(field, ...) say(f->field, __VA_ARGS__)

/* Into a field of a finding; what is too long is cut off. */
static void __attribute__((format(printf, 2, 3))) say(char field[NC_TEXT_BYTES], const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(field, NC_TEXT_BYTES, format, args);
    va_end(args);
}

/* What works with a limit, what that means, and what would change it. */
static void limit(struct nc_finding *f, const char *means, const char *change) {
    f->state = NC_LIMITED;
    SAY(means, "%s", means);
    SAY(change, "%s", change);
}

/* The path of a program that PATH has; NULL. */
static const char *in_path(const char *name, char *buf, size_t size) {
    const char *path = getenv("PATH");
    for (const char *p = path ? path : ""; *p;) {
        size_t length = strcspn(p, ":");
        if (snprintf(buf, size, "%.*s/%s", (int)length, p, name) < (int)size && access(buf, X_OK) == 0)
            return buf;
        p += length + (p[length] == ':');
    }
    return NULL;
}

/* Of what a command said: the first line of ours, else the first that says something; cut to `size`. */
static const char *reason_of(const char *text, char *buf, size_t size) {
    const char *ours = strstr(text, "noiselab-"), *line = ours ? ours : text + strspn(text, " \t\n-");
    const char *colon = ours ? strstr(ours, ": ") : NULL;
    if (colon) line = colon + 2;
    snprintf(buf, size, "%.*s", (int)strcspn(line, "\n"), line);
    return buf;
}

static void look_at_privileges(struct nc_machine *m, struct nc_finding *f) {
    m->is_root = geteuid() == 0;
    if (m->is_root)
        SAY(here, "root");
    else
        SAY(here, "user %u, no root: all experiments run; agents of other users cannot be switched",
            (unsigned)geteuid());
}

static void look_at_cpus(struct nc_machine *m, struct nc_finding *f) {
    char list[256];
    struct nl_place *place;
    if (nl_place_open(&place)) {
        f->state = NC_MISSING;
        SAY(here, "hwloc cannot read this machine");
        return;
    }
    int n_all = nl_place_count(place);
    nl_place_restrict_to_binding(place);
    m->n_cores = nl_place_cores(place);
    m->first_cpu = nl_place_first(place);
    int smt = nl_place_smt(place);
    SAY(here, "%d core(s) allowed, CPUs %s (of %d that the cgroup allows), %d thread(s) per core", m->n_cores,
        nl_place_list(place, list, sizeof list), n_all, smt > 0 ? smt : 1);
    nl_place_close(place);
    if (m->n_cores < 2) {
        limit(f, "one rank: no collective waits for another rank",
              "a machine, job or cpuset of two cores or more");
    } else if (smt > 1) {
        SAY(means, "ranks are bound to cores; what runs on the other threads of a core slows them down");
    }
}

static void look_at_quota(struct nc_machine *m, struct nc_finding *f) {
    struct nl_quota quota;
    char text[256];
    nl_quota_open(&quota, "", getpid());
    nl_quota_close(&quota);
    if (quota.quota_ns == 0) {
        SAY(here, "none: no cgroup limits the CPU time");
        return;
    }
    SAY(here, "%s%s", nl_quota_tell(&quota, text, sizeof text),
        quota.depth > 0 ? ", set above the own cgroup" : "");
    limit(f,
          nl_quota_cpus(&quota) < m->n_cores
              ? "a rank on each core needs more: all are stopped in every period, and that is no noise of "
                "other tasks"
              : "a load or an agent in the same cgroup may use it up: then the ranks are stopped, too",
          "a cgroup, job or container without a limit of CPU time (cpu.max, cpu.cfs_quota_us; docker --cpus, "
          "Kubernetes limits.cpu)");
}

static void look_at_load(struct nc_machine *m, struct nc_finding *f) {
    static unsigned char used[CPU_SETSIZE];
    static struct nd_quiet_node node;
    const struct timespec time = {.tv_sec = LOOK_S};
    pid_t own[] = {getpid()};
    cpu_set_t mask;
    (void)m;
    if (sched_getaffinity(0, sizeof mask, &mask)) CPU_ZERO(&mask);
    for (int i = 0; i < CPU_SETSIZE; i++)
        used[i] = CPU_ISSET((size_t)i, &mask) != 0;
    struct nd_quiet *quiet = nd_quiet_open("/proc", used, CPU_SETSIZE, own, 1);
    if (quiet) {
        nd_quiet_begin(quiet);
        nanosleep(&time, NULL);
        nd_quiet_end(quiet, &node);
        nd_quiet_close(quiet);
    }
    if (!quiet || node.n_cpus == 0) {
        f->state = NC_LIMITED;
        SAY(here, "not known: /proc/stat cannot be read");
        return;
    }
    if (nd_quiet_is(&node, 1, ND_QUIET_LIMIT_PERCENT)) {
        SAY(here, "quiet: %.1f %% busy, %.1f %% steal (mean over CPUs, %d s)", node.busy_percent,
            node.steal_percent, LOOK_S);
        return;
    }
    nd_quiet_tell(&node, 1, ND_QUIET_LIMIT_PERCENT, f->here, NC_TEXT_BYTES);
    if (node.steal_percent > node.busy_percent)
        limit(f, "a hypervisor takes the CPUs: small effects need longer runs",
              "another host, or another hour");
    else
        limit(f, "what runs now slows the measurement: small effects need longer runs",
              "stop it, or wait until it is quiet: --wait-quiet 5min");
}

static void look_at_clock(struct nc_machine *m, struct nc_finding *f) {
    char source[64];
    (void)m;
    nl_read_line("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof source);
    SAY(here, "clock source %s", source[0] ? source : "not known");
    if (strcmp(source, "tsc") == 0 || strcmp(source, "arch_sys_counter") == 0 ||
        strcmp(source, "timebase") == 0)
        return;
    limit(f, "a reading may cost a microsecond; operations below some 10 us are timed coarsely",
          "clocksource=tsc on the kernel's command line, where the TSC is stable");
}

static void look_at_governor(struct nc_machine *m, struct nc_finding *f) {
    char name[64];
    (void)m;
    nl_read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", name, sizeof name);
    SAY(here, "%s", name[0] ? name : "not known (no cpufreq here, as in many virtual machines)");
    if (!name[0] || strcmp(name, "performance") == 0) return;
    limit(f, "the CPU's clock follows the load: times scatter more",
          "cpupower frequency-set -g performance (as root)");
}

static void look_at_preempted(struct nc_machine *m, struct nc_finding *f) {
    struct nl_preempted p;
    (void)m;
    nl_preempted_open(&p, NL_PREEMPTED_AUTO);
    int is_scheduler = nl_preempted_source(&p) == NL_PREEMPTED_SCHEDULER;
    nl_preempted_close(&p);
    SAY(here, is_scheduler ? "by the scheduler's own account" : "by wall time minus CPU time");
    if (is_scheduler) return;
    limit(f, "a hypervisor's steal counts as preempted time, too", "a kernel with CONFIG_SCHED_INFO");
}

static void look_at_recording(struct nc_machine *m, struct nc_finding *f) {
    struct nr_recorder *recorder;
    char paranoid[32];
    nl_read_line("/proc/sys/kernel/perf_event_paranoid", paranoid, sizeof paranoid);
    const struct nr_config config = {
        .source = "auto", .view = NR_VIEW_CPUS, .cpus = &m->first_cpu, .n_cpus = 1};
    nl_set_quiet(1); /* the reason comes with the recorder, or there is none at all */
    int failed = nr_open(&recorder, &config);
    nl_set_quiet(0);
    const char *source = failed ? "" : nr_source(recorder),
               *reason = failed ? "no source" : nr_reason(recorder);
    SAY(here, "%s%s%s%s (perf_event_paranoid %s)", failed ? "" : "source ", source,
        *source && *reason ? "; " : "", reason, paranoid[0] ? paranoid : "not known");
    if (*reason)
        limit(f,
              "an agent's cost is measured; which task took the CPU is known less exactly, or not at all; "
              "noiselab top shows "
              "shares, no single interruptions",
              "sysctl kernel.perf_event_paranoid=-1 (as root), or run as root");
    if (!failed) nr_close(recorder);
}

/* What noiselab-agent finds of a process of ours that does nothing: how it would be frozen. */
static json_t *agent_of_ours(const struct nc_machine *m, char *err, size_t size) {
    char program[PATH_MAX], pid_word[48], out[TEXT_BYTES];
    pid_t pid = fork();
    while (pid == 0)
        pause();
    if (pid < 0) return NULL;
    snprintf(program, sizeof program, "%s/noiselab-agent", m->bin);
    snprintf(pid_word, sizeof pid_word, "--agent-pid=%d", (int)pid);
    const char *const words[] = {program, "--dry-run", "--json", "--who=none", pid_word, NULL};
    int status = nc_run(words, SLURM_S, out, sizeof out, err, size);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    return status == 0 ? json_loads(out, 0, NULL) : NULL;
}

static void look_at_freezing(struct nc_machine *m, struct nc_finding *f) {
    char err[TEXT_BYTES] = "", reason[200];
    json_t *json = agent_of_ours(m, err, sizeof err);
    const char *freezer = json_string_value(json_object_get(json, "freezer")),
               *why = json_string_value(json_object_get(json, "freezer_reason"));
    const char *cgroup = access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0 ? "cgroup v2"
                         : access("/sys/fs/cgroup/freezer", F_OK) == 0          ? "cgroup v1"
                                                                                : "no cgroups";
    m->can_freeze = freezer != NULL;
    if (!freezer) {
        f->state = NC_MISSING;
        SAY(here, "%s; cannot freeze a process: %s", cgroup, reason_of(err, reason, sizeof reason));
        SAY(means,
            "running agents (--agent-pid, --agent-unit) cannot be switched; started ones (--agent-cmd) can");
    } else {
        SAY(here, "%s; a running agent is frozen by %s", cgroup, freezer);
        f->state = why ? NC_LIMITED : NC_GOOD;
        if (why) SAY(means, "no better way: %s", why);
    }
    if (f->state != NC_GOOD)
        SAY(change, "%s",
            m->is_root ? "mount a freezer, or a writable cgroup v2"
                       : "run as root, or in a cgroup that is yours (systemd-run --user --scope)");
    json_decref(json);
}

static void look_at_loads(struct nc_machine *m, struct nc_finding *f) {
    size_t used;
    int n = 0, n_missing = 0;
    (void)m;
    for (; ng_kinds[n]; n++) {
        const char *reason = ng_kinds[n]->supported ? ng_kinds[n]->supported() : NULL;
        if (!reason) continue;
        used = strlen(f->means);
        snprintf(f->means + used, NC_TEXT_BYTES - used, "%s%s: %s", n_missing++ ? "; " : "",
                 ng_kinds[n]->name, reason);
    }
    SAY(here, "%d of %d kinds of load can run", n - n_missing, n);
    if (n_missing) f->state = NC_LIMITED;
}

static void look_at_python(struct nc_machine *m, struct nc_finding *f) {
    char run[PATH_MAX], out[TEXT_BYTES], err[TEXT_BYTES], reason[200];
    snprintf(run, sizeof run, "%s/noiselab-run", m->bin);
    if (access(run, X_OK) != 0) {
        SAY(here, "not looked for: noiselab run is not installed here");
        return;
    }
    m->has_python =
        nc_run((const char *const[]){run, "--python", NULL}, R_S, out, sizeof out, err, sizeof err) == 0;
    out[strcspn(out, "\n")] = '\0';
    if (m->has_python) {
        SAY(here, "%s", out);
        return;
    }
    f->state = NC_MISSING;
    SAY(here, "%s", reason_of(err, reason, sizeof reason));
    SAY(means, "noiselab run, which is written in it, starts no experiment");
    SAY(change, "install Python 3.6 or later (Debian: apt install python3), or name one in NOISELAB_PYTHON");
}

static void look_at_mpi(struct nc_machine *m, struct nc_finding *f) {
    char path[PATH_MAX], out[TEXT_BYTES], err[TEXT_BYTES], script[PATH_MAX], folder[PATH_MAX], reason[200];
    const char *told = getenv("NOISELAB_MPIRUN"), *mpirun = told && *told ? told : "mpirun",
               *tmp = getenv("TMPDIR");
    int length = snprintf(folder, sizeof folder, "%s/noiselab-doctor-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    f->state = NC_MISSING;
    SAY(means, "no experiment can start its ranks");
    if (!strchr(mpirun, '/') && !in_path(mpirun, path, sizeof path) && !in_path("srun", path, sizeof path)) {
        SAY(here, "no %s and no srun in PATH", mpirun);
        SAY(change, "install an MPI library (Debian: apt install openmpi-bin), load its module, or set "
                    "NOISELAB_MPIRUN");
        return;
    }
    nc_run((const char *const[]){mpirun, "--version", NULL}, SLURM_S, out, sizeof out, NULL, 0);
    out[strcspn(out, "\n")] = '\0';
    snprintf(script, sizeof script, "%s/noiselab-run", m->bin);
    if (access(script, X_OK) != 0 || !m->has_python || length >= (int)sizeof folder || !mkdtemp(folder)) {
        /* a compute node with the programs only, or without a place for temporary files */
        f->state = NC_LIMITED;
        m->launcher_works = 1;
        SAY(here, "%s; not tried: noiselab run cannot run here, or %s cannot be written", out,
            tmp && *tmp ? tmp : "/tmp");
        f->means[0] = '\0';
        return;
    }
    int status = nc_run((const char *const[]){script, "--try-launch", folder, NULL}, LAUNCH_S, NULL, 0, err,
                        sizeof err);
    nc_run((const char *const[]){"rm", "-rf", folder, NULL}, SLURM_S, NULL, 0, NULL, 0);
    m->launcher_works = status == 0;
    if (m->launcher_works) {
        f->state = NC_GOOD;
        f->means[0] = '\0';
        SAY(here, "%s: starts ranks that find each other", out[0] ? out : mpirun);
        return;
    }
    if (status == 124)
        SAY(here, "%s: ranks did not end within %d s", out, LAUNCH_S);
    else
        SAY(here, "%s: cannot start ranks: %s", out, reason_of(err, reason, sizeof reason));
    SAY(change, "an mpirun of the library that noiselab-detect was built with (see ldd noiselab-detect), "
                "named in NOISELAB_MPIRUN");
}

static void look_at_slurm(struct nc_machine *m, struct nc_finding *f) {
    char path[PATH_MAX], out[TEXT_BYTES], err[TEXT_BYTES];
    const char *job = getenv("SLURM_JOB_ID");
    if (!in_path("sbatch", path, sizeof path)) {
        SAY(here, "not here: one machine, or several by --hosts");
        return;
    }
    int status = nc_run((const char *const[]){"sinfo", "--noheader", "--format=%P %D", NULL}, SLURM_S, out,
                        sizeof out, err, sizeof err);
    for (size_t i = 0, end = strlen(out); i < end; i++)
        if (out[i] == '\n') out[i] = i + 1 < end ? ',' : '\0';
    m->has_slurm = status == 0;
    m->is_slurm_job = job && *job;
    if (status == 0) {
        SAY(here, "%s%s; partitions and nodes: %.200s", m->is_slurm_job ? "in job " : "not in a job",
            m->is_slurm_job ? job : "", out);
        return;
    }
    char reason[200];
    limit(f, "no batch jobs (--submit)", "");
    SAY(here, "does not answer: %s", reason_of(err, reason, sizeof reason));
}

static void look_at_likwid(struct nc_machine *m, struct nc_finding *f) {
    char path[PATH_MAX];
    const char *perfctr = in_path("likwid-perfctr", path, sizeof path);
    (void)m;
#ifdef NOISELAB_LIKWID
    char cpu[16];
    snprintf(cpu, sizeof cpu, "%d", m->first_cpu);
    int status = 127;
    if (perfctr)
        status = nc_run((const char *const[]){perfctr, "-C", cpu, "-g", "CLOCK", "true", NULL}, SLURM_S, NULL,
                        0, NULL, 0);
    SAY(here, "%s",
        !perfctr      ? "built with it; likwid-perfctr is not in PATH"
        : status == 0 ? "its counters can be read"
                      : "likwid-perfctr is here, and cannot read its counters (group CLOCK)");
    if (status == 0) return;
    SAY(change, "%s",
        perfctr ? "msr module and likwid-accessD, or perf events for users; virtual machines often have no "
                  "counters"
                : "install likwid on the nodes");
#else
    SAY(here, perfctr ? "likwid-perfctr is here; noiselab was built without it" : "not here");
    SAY(change, "install likwid with its header, and build again (LIKWID=yes)");
#endif
    f->state = NC_LIMITED;
    SAY(means, "no hardware counters by arm (analyze counters); nothing else needs them");
}

static void look_at_r(struct nc_machine *m, struct nc_finding *f) {
    char path[PATH_MAX], program[PATH_MAX], err[TEXT_BYTES], reason[200];
    snprintf(program, sizeof program, "%s/noiselab-analyze", m->bin);
    int status = 127;
    if (in_path("Rscript", path, sizeof path))
        status = nc_run((const char *const[]){program, "--list-tables", NULL}, R_S, NULL, 0, err, sizeof err);
    m->has_r = status == 0;
    if (m->has_r) {
        SAY(here, "%s, with the package noiselab", path);
        return;
    }
    f->state = NC_MISSING;
    SAY(means, "experiments measure, and answer where R is: noiselab run EXPERIMENT --finish DIR");
    if (status == 127)
        SAY(here, "no Rscript in PATH");
    else
        SAY(here, "Rscript is here, and the package is not: %s", reason_of(err, reason, sizeof reason));
    SAY(change, "%s",
        status == 127
            ? "install R (Debian: apt install r-base-core r-cran-ggplot2 r-cran-data.table r-cran-jsonlite)"
            : "make r, or make install, again");
}

const struct nc_probe nc_probes[] = {
    {"privileges", look_at_privileges},
    {"CPUs", look_at_cpus},
    {"quota", look_at_quota},
    {"now", look_at_load},
    {"clock", look_at_clock},
    {"governor", look_at_governor},
    {"preempted", look_at_preempted},
    {"recording", look_at_recording},
    {"freezing", look_at_freezing},
    {"loads", look_at_loads},
    {"Python", look_at_python},
    {"MPI", look_at_mpi},
    {"Slurm", look_at_slurm},
    {"LIKWID", look_at_likwid},
    {"R", look_at_r},
    {0},
};
