/* Tasks and their processes, users and units. */
#pragma once

#include "noisegen/top/top.h"
#include "noisegen/top/watch.h"

/* The last bursts of a row's process, the oldest first; *now_ns is the end of the sample's interval. Their
 * number. */
int nt_last_bursts(const struct nt_watch *watch, int32_t process, int64_t pid,
                   struct nt_burst bursts[NT_LAST_BURSTS], int64_t *now_ns);

int nt_processes_open(struct nt_watch *w);
void nt_processes_close(struct nt_watch *w);

/* The process of that number, made where it is new; -1 without room. */
int32_t nt_new_process(struct nt_watch *w, pid_t pid);
static inline int32_t nt_process(struct nt_watch *w, pid_t pid) {
    if (pid <= 0 || (uint32_t)pid >= w->n_numbers) return -1;
    int32_t place = w->process_of[pid] - 1;
    return place >= 0 ? place : nt_new_process(w, pid);
}

/* A thread, whose place stays; NULL without memory, or of a number out of range. */
enum { NT_THREAD_PAGE = 512 };
struct nt_thread *nt_new_thread(struct nt_watch *w, uint32_t tid);
static inline struct nt_thread *nt_thread(struct nt_watch *w, uint32_t tid) {
    if (tid >= w->n_numbers) return NULL;
    struct nt_thread *page = w->thread_of[tid / NT_THREAD_PAGE];
    return page ? &page[tid % NT_THREAD_PAGE] : nt_new_thread(w, tid);
}

/* Somebody was born, has a new name, has ended. */
void nt_born(struct nt_watch *w, pid_t pid, pid_t parent);
void nt_renamed(struct nt_watch *w, pid_t pid, const char *name);
void nt_ended(struct nt_watch *w, pid_t pid, pid_t parent);

/* Name and parent of one, where they are not known, from what /proc says of it. */
void nt_take_name(struct nt_watch *w, int32_t process, const struct nl_stat *stat);

/* Looks for the name and parent of one; its user and unit. Some 10 us each, once. */
void nt_find_name(struct nt_watch *w, int32_t process);
void nt_find_place(struct nt_watch *w, int32_t process);
const char *nt_user_name(struct nt_watch *w, uid_t uid);

/* Marks the program's processes and their children, where they are named. 0, -1 after a message. */
int nt_find_program(struct nt_watch *w);

/* A process that is in `active` now. */
void nt_add_active(struct nt_watch *w, int32_t process);
static inline void nt_is_active(struct nt_watch *w, int32_t process) {
    if (!w->processes[process].is_active) nt_add_active(w, process);
}

/* Of processes that have ended the time goes to who started them; what has been told is forgotten. */
void nt_fold_ended(struct nt_watch *w);
void nt_forget_ended(struct nt_watch *w);

/* A burst is over. */
void nt_count_burst(struct nt_watch *w, int32_t process, int64_t start_ns, int64_t length_ns);
