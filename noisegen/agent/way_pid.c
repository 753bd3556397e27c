/* A process and all its children: kept running, frozen and thawed. */
#include "noisegen/agent/agent.h"

static int check(struct na_agent *a, char *reason, int size) {
    struct nl_stat s;
    pid_t pid = a->options->pid;
    if (nl_stat_read(pid, &s)) nl_say(reason, size, "there is no process %d", (int)pid);
    else if (s.is_kernel) nl_say(reason, size, "process %d (%s) is a thread of the kernel: it cannot be switched", (int)pid, s.name);
    else if (na_is_ancestor(pid)) nl_say(reason, size, "process %d (%s) runs this program: it cannot be frozen", (int)pid, s.name);
    else {
        a->root = (struct na_process){pid, s.start_ticks};
        if (na_set_add(&a->set, pid) == 1) {
            na_set_add_descendants(&a->set);
            return na_frozen_check(a, reason, size);
        }
        nl_say(reason, size, "process %d (%s) has ended, and only waits for its parent", (int)pid, s.name);
    }
    return -1;
}

static int lives(struct na_agent *a, char *reason, int size) {
    if (na_process_lives(a->root)) return 1;
    nl_say(reason, size, "process %d (%s) has ended%s", (int)a->root.pid, a->name,
             na_process_of(a->root.pid).start_ticks ? ", and its number belongs to another one now" : "");
    return 0;
}

const struct na_way na_way_pid = {.name = "pid", .option = "agent-pid", .help = "a process and its children, frozen and thawed",
                                  .check = check, NA_FROZEN_HOOKS, .lives = lives};
