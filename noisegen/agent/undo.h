/* What has to be undone so that the agent is left as it was found: plain data in memory shared with the
 * guardian, so that whoever survives can undo it. An entry is written before the deed and taken out after its
 * undoing was seen: undoing what was not done yet does no harm. What is frozen stands in a journal on disk as
 * well (below), for the case that nobody survives. */
#pragma once

#include "noisegen/agent/proc.h"

enum {
    NA_UNDO_PROCESSES = 8192,
    NA_UNDO_TEXT_BYTES = 8192,
    NA_UNDO_SETTINGS = 4096,
    NA_UNDO_PATH_BYTES = 256,
    NA_UNDO_VALUE_BYTES = 256,
    NA_UNDO_TASKS = 16384,
    NA_UNDO_CONFINED = 8
};

/* A file of a setting, and what stood in it. */
struct na_kept {
    char path[NA_UNDO_PATH_BYTES], value[NA_UNDO_VALUE_BYTES];
    int setting;    /* whose */
    int is_cpu_list; /* the kernel may say the same CPUs in other words */
};

/* A task (a thread), and where it might run. */
struct na_roamer { struct na_process task; cpu_set_t cpus; };

struct na_undo {
    struct na_undo
        *next; /* of another agent beside this one; NULL: there is none. The guardian undoes both */
    int32_t number;       /* 0 the first, 1 */
    /* processes stopped by SIGSTOP */
    _Atomic int32_t n_stopped;
    struct na_process stopped[NA_UNDO_PROCESSES];
    /* a frozen cgroup: what to write where */
    _Atomic int32_t is_frozen;
    char thaw_file[PATH_MAX], thaw_text[16];
    char look_file[PATH_MAX],
        look_text[16]; /* the file that says the state, and what it says of a thawed one */
    /* a cgroup of ours, whose members go back to where they came from */
    _Atomic int32_t has_cgroup;
    char own_directory[PATH_MAX], origin_directory[PATH_MAX];
    /* processes that we started, to be ended with their children */
    _Atomic int32_t n_started;
    struct na_process started[NA_UNDO_PROCESSES];
    int64_t patience_ns; /* between SIGTERM and SIGKILL */
    /* the command of two that brings the agent back to how it was found, or off where that is not known */
    _Atomic int32_t must_switch;
    char back_command[NA_UNDO_TEXT_BYTES];
    struct na_process switching; /* the one of the two that runs; pid 0: none does */
    const char *back_option; /* static: --agent-on or --agent-off */
    int32_t is_shell;
    int64_t timeout_ns;
    /* settings of the operating system: what was found, complete before the first is written */
    _Atomic int32_t must_reset; /* one of them may have been written since */
    int32_t n_kept;
    struct na_kept kept[NA_UNDO_SETTINGS];
    /* tasks that are confined to some CPUs, of a pattern of names; those that they start inherit it */
    _Atomic int32_t n_roamers;
    struct na_roamer roamers[NA_UNDO_TASKS];
    char confine_pattern[64];
    int32_t n_confines;
    cpu_set_t confines[NA_UNDO_CONFINED]; /* the sets of CPUs that they are confined to */
    uint64_t confined_ticks;              /* when that began, as start_ticks */
    int32_t n_spared;
    pid_t spared[1024]; /* processes that are never confined: the ranks' */
    /* the companion's: */
    struct na_process companion, guardian; /* pid 0: there is none */
    char journal_file[PATH_MAX]; /* "": there is none */
};

/* In shared memory; NULL without memory. */
struct na_undo *na_undo_create(void);

/* Opens thaw_file and look_file before anything is frozen: descriptors may have run out by then. 0, -1 with
 * errno: nothing may be frozen. */
int na_undo_hold(struct na_undo *undo);

/* What na_undo_hold opened is not this process's any more: it is a child that has closed all files. */
void na_undo_let_go(void);

/* This one and those after it. As na_undo_all, na_undo_thaw and na_undo_is_done. */
int na_undo_every(struct na_undo *undo, char *problem, int problem_size);
int na_undo_thaw_every(struct na_undo *undo);
int na_undo_every_is_done(const struct na_undo *undo);

/* Lets frozen or stopped processes run: the most important part. 0, -1 with errno of the last failure; may be
 * tried again. */
int na_undo_thaw(struct na_undo *undo);

/* Ends processes and all their children: 0 by SIGTERM, 1 by SIGKILL after patience_ns, -1 some are still
 * there (another user's). */
int na_end_processes(struct na_set *set, int64_t patience_ns);

/* Takes members back to their cgroup and removes ours, which is not frozen. 0, -1 with errno. */
int na_undo_cgroup(struct na_undo *undo);

/* Everything; safe to repeat. 0, or -1 with a line in `problem` that says what could not be undone. */
int na_undo_all(struct na_undo *undo, char *problem, int problem_size);

/* Whether there is nothing left to undo. */
int na_undo_is_done(const struct na_undo *undo);

/* Notes a process in one of the lists, before something is done with it. -1: the list is full. */
int na_undo_note(struct na_process *list, _Atomic int32_t *n, struct na_process process);

/* The journal: what is frozen or switched now, for the case that companion and guardian are killed together
 * (by the end of a job's cgroup, say). It lies in /run/noiselab (root) or in XDG_RUNTIME_DIR/noiselab, a
 * folder that only its owner can write, and only while something is to be undone. */

/* Chooses the file; without a folder for it there is none, and undo->journal_file stays "". */
void na_journal_open(struct na_undo *undo);

/* Writes what is frozen and switched by `undo`, or removes the file when that is nothing. 0, -1
 * with errno. */
int na_journal_note(struct na_undo *undo);

/* Undoes what stands in journals whose companion and guardian have ended, and says so. How many could not be
 * undone; these stay. */
int na_journal_restore(void);
