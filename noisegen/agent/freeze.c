#include "noisegen/agent/freeze.h"

const struct na_freezer *const na_freezers[] = {&na_freezer_v1, &na_freezer_v2, &na_freezer_signals, NULL};

int na_freeze_members(struct na_freeze *f) {
    na_set_prune(f->set);
    if (f->given[0] || f->directory[0]) na_set_add_cgroup(f->set, f->directory[0] ? f->directory : f->given);
    else na_set_add_descendants(f->set);
    return f->set->n;
}

int na_freeze_await(int (*is_done)(const void *), const void *context, int64_t timeout_ns) {
    int64_t begin_ns = nl_mono_ns(), waited_ns = 0;
    for (; !is_done(context); waited_ns = nl_mono_ns() - begin_ns) {
        if (waited_ns > timeout_ns) return -1;
        if (waited_ns < 2000000) sched_yield();
        else nl_sleep_ns(100000); /* it waits for something, and sleeping is polite */
    }
    return 0;
}

static int check_running(struct na_freeze *f, char *reason, int reason_size) {
    for (int i = 0; i < f->set->n; i++) {
        struct nl_stat s;
        if (nl_stat_read(f->set->p[i].pid, &s) || (s.state != 'T' && s.state != 't')) continue;
        return nl_say(reason, reason_size, "process %d (%s) is %s already: let it run first, or it could not be left as it was found",
                      (int)f->set->p[i].pid, s.name, s.state == 't' ? "under a debugger" : "stopped");
    }
    return 0;
}

/* Tries the freezers in their order: 1 found, 0 none, -1 refused. */
static int try_freezers(struct na_freeze *f, int is_trial, char *reason, int reason_size) {
    char why[256];
    int length = (int)strlen(f->reason);
    for (const struct na_freezer *const *row = na_freezers; *row; row++) {
        if (f->is_given_wanted && !(*row)->state_file) continue;
        why[0] = '\0';
        int rc = (*row)->prepare(f, *row, is_trial, why, sizeof why);
        if (rc == 0) {
            f->row = *row;
            return 1;
        }
        if (rc < -1) { /* found frozen: not a matter of the freezer */
            nl_say(reason, reason_size, "%s", why);
            return -1;
        }
        length += snprintf(f->reason + length, sizeof f->reason - (size_t)length, "%s%s: %s", length ? "; " : "", (*row)->name, why);
        if (length >= (int)sizeof f->reason) length = (int)sizeof f->reason - 1;
    }
    return 0;
}

int na_freeze_prepare(struct na_freeze *f, int is_trial, char *reason, int reason_size) {
    int found = 0;
    f->reason[0] = '\0';
    if (check_running(f, reason, reason_size)) return -1;
    f->is_given_wanted = f->given[0] != '\0';
    if (f->is_given_wanted) found = try_freezers(f, is_trial, reason, reason_size);
    f->is_given_wanted = 0;
    if (!found) found = try_freezers(f, is_trial, reason, reason_size);
    if (!found) nl_say(reason, reason_size, "it cannot be frozen (%s)", f->reason);
    return found > 0 ? 0 : -1;
}
