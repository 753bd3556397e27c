/* Running commands: an argument vector by posix_spawn (or sh -c, when asked for), with clean signals, in a
 * process group of its own, with /dev/null as its input. */
#pragma once

#include "noisegen/agent/proc.h"

struct na_command {
    const char *text; /* as given; not owned */
    char **words;     /* ends with NULL */
    int is_shell;
};

/* Splits the text, and looks for the program where execvp would. 0, -1 with a line in `reason`. */
int na_command_make(struct na_command *command, const char *text, int is_shell, char *reason,
                    int reason_size);
void na_command_free(struct na_command *command);

/* The program's name: the first word without its folders; with a shell, the first word of the text. */
void na_command_name(const struct na_command *command, char *name, int size);

/* Whether a command may be bound to these CPUs: 0, -1. */
int na_try_cpus(const cpu_set_t *cpus);

/* Starts it. out_fd: its stdout and stderr, -1: /dev/null; cpus: where it may run, NULL: where the caller
 * may. 0, -1 with a line in `reason`. */
int na_command_start(const struct na_command *command, int out_fd, const cpu_set_t *cpus, pid_t *pid,
                     char *reason, int reason_size);

/* Starts it and waits for its end; SIGKILL to its group after timeout_ns, or when *stop (may be NULL) is not
 * 0. 0 when it ended with status 0, otherwise -1 with a line in `reason`.
 * @param running  where its process stands while it runs, for whoever survives us; NULL: nowhere. */
int na_command_run(const struct na_command *command, int out_fd, int64_t timeout_ns,
                   const _Atomic uint32_t *stop, struct na_process *running, char *reason, int reason_size);

/* Waits for a child that has ended, and keeps how it ended and what it used. 1 done now or before (or no
 * child of ours), 0 it still runs. */
int na_reap(pid_t pid);

/* Waits for all children that have ended: a daemon's processes become ours when their parent ends. */
void na_reap_all(void);

/* How a child ended that was waited for (of the last thousand): the status as waitpid() has it, -1 when it
 * runs or is not known. */
int na_status_of(pid_t pid);

/* Whether we have waited for it: its CPU time is in na_reaped(). */
int na_was_reaped(pid_t pid);

/* "status 1", "signal 9 (Killed)" into `text`. */
void na_status_say(int status, char *text, int size);

/* CPU time of all children waited for so far, with theirs, ns; of those whose pid was given to na_reap_aside
 * apart. */
struct na_reaped {
    int64_t cpu_ns, aside_cpu_ns;
    int last_aside_failure; /* status; 0: none */
};
struct na_reaped na_reaped(void);

/* Children that are accounted for apart from now on (the scraper's); 0 takes it back. */
void na_reap_aside(pid_t pid);
