/* What has to be undone so that the agent is left as it was found: plain data in memory shared with the guardian, so that whoever
 * survives can undo it. An entry is written before the deed and taken out after its undoing was seen: undoing what was not done yet does
 * no harm. What is frozen stands in a journal on disk as well (below), for the case that nobody survives. */
#pragma once

#include "noisegen/agent/proc.h"

enum { NA_UNDO_PROCESSES = 8192, NA_UNDO_TEXT_BYTES = 8192 };

struct na_undo {
    /* processes stopped by SIGSTOP */
    _Atomic int32_t n_stopped;
    struct na_process stopped[NA_UNDO_PROCESSES];
    /* a frozen cgroup: what to write where */
    _Atomic int32_t is_frozen;
    char thaw_file[PATH_MAX], thaw_text[16];
    char look_file[PATH_MAX], look_text[16]; /* the file that says the state, and what it says of a thawed one */
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
    /* the companion's: */
    struct na_process companion, guardian; /* pid 0: there is none */
    char journal_file[PATH_MAX]; /* "": there is none */
};

/* In shared memory; NULL without memory. */
struct na_undo *na_undo_create(void);

/* Opens thaw_file and look_file before anything is frozen: descriptors may have run out by then. 0, -1 with errno: nothing may be
 * frozen. */
int na_undo_hold(struct na_undo *undo);

/* What na_undo_hold opened is not this process's any more: it is a child that has closed all files. */
void na_undo_let_go(void);

/* Lets frozen or stopped processes run: the most important part. 0, -1 with errno of the last failure; may be tried again. */
int na_undo_thaw(struct na_undo *undo);

/* Ends processes and all their children: 0 by SIGTERM, 1 by SIGKILL after patience_ns, -1 some are still there (another user's). */
int na_end_processes(struct na_set *set, int64_t patience_ns);

/* Takes members back to their cgroup and removes ours, which is not frozen. 0, -1 with errno. */
int na_undo_cgroup(struct na_undo *undo);

/* Everything; safe to repeat. 0, or -1 with a line in `problem` that says what could not be undone. */
int na_undo_all(struct na_undo *undo, char *problem, int problem_size);

/* Whether there is nothing left to undo. */
int na_undo_is_done(const struct na_undo *undo);

/* Notes a process in one of the lists, before something is done with it. -1: the list is full. */
int na_undo_note(struct na_process *list, _Atomic int32_t *n, struct na_process process);

/* The journal: what is frozen or switched now, for the case that companion and guardian are killed together (by the end of a job's
 * cgroup, say). It lies in /run/noiselab (root) or in XDG_RUNTIME_DIR/noiselab, a folder that only its owner can write, and only while
 * something is to be undone. */

/* Chooses the file; without a folder for it there is none, and undo->journal_file stays "". */
void na_journal_open(struct na_undo *undo);

/* Writes what is frozen and switched by `undo`, or removes the file when that is nothing. 0, -1 with errno. */
int na_journal_note(struct na_undo *undo);

/* Undoes what stands in journals whose companion and guardian have ended, and says so. How many could not be undone; these stay. */
int na_journal_restore(void);
