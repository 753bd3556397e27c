/* A running MPI program that is followed: one of its ranks, through the file that the profile's library keeps
 * (profile_file.h). Local. */
#pragma once

#include "detector/profile/profile_file.h"

/* What ranks call their beats. */
struct nd_beat {
    char operation[NF_NAME_BYTES];
    int size_class;   /* as in struct nf_row; -1: any */
    int communicator; /* enum nf_communicator_kind; -1: any */
    int64_t period;   /* beats after which they repeat */
    int64_t beat_ns;  /* mean time from one to the next */
    int64_t median_ns;
};

/* A stretch of beats. */
struct nd_stretch {
    int64_t n_beats;
    int64_t start_ns; /* CLOCK_MONOTONIC */
    int64_t wall_ns;
    int64_t cpu_ns, waited_ns;          /* waited for a CPU; as of nl_thread_times */
    int64_t n_involuntary, n_voluntary; /* switches off the CPU */
    int sees_waits;                     /* 0: waited_ns is not known */
};

enum nd_follow_end { ND_FOLLOW_DONE, ND_FOLLOW_OVER /* the program has ended */, ND_FOLLOW_STOPPED };

struct nd_program;

/* Waits until rank `rank` of the program whose files are in `folder` is there. 0, or -1 with the reason. */
int nd_program_open(struct nd_program **program, const char *folder, int rank, int n_ranks,
                    const volatile int *stop_asked, char *reason, size_t size);
void nd_program_close(struct nd_program *p);

pid_t nd_program_pid(const struct nd_program *p);
pid_t nd_program_tid(const struct nd_program *p);
const char *nd_program_path(const struct nd_program *p);

/* Reads OPERATION or OPERATION:SIZE, the operation in any case. 0 or -1. */
int nd_beat_parse(const char *text, struct nd_beat *beat);

/* "allreduce 8 B", for people. Returns `text`. */
char *nd_beat_tell(const struct nd_beat *beat, char *text, size_t size);

/* Watches the program's calls until one repeats regularly, for 20 s at most. 0, or -1 with the reason. */
int nd_program_find_beat(struct nd_program *p, const volatile int *stop_asked, struct nd_beat *beat,
                         char *reason, size_t size);

/* Makes this rank's row that is nearest to `beat` its beat, and measures it. 0, or -1 with the reason. */
int nd_program_take_beat(struct nd_program *p, const volatile int *stop_asked, struct nd_beat *beat,
                         char *reason, size_t size);

/* Asks for the next n_beats, and waits for the first of them. `beat_ns`: what one should take, for how long
 * to sleep. */
void nd_program_begin(struct nd_program *p, int64_t n_beats, int64_t beat_ns, const volatile int *stop_asked);

/* Waits for the end of the beats that were asked for, and says what they took. `expected_ns`: as above. */
enum nd_follow_end nd_program_finish(struct nd_program *p, int64_t expected_ns,
                                     const volatile int *stop_asked, struct nd_stretch *stretch);

void nd_program_rest(const struct nd_program *p, int64_t ns);

/* Which call of a program is its beat, and after how many it repeats: pure functions. */

enum { ND_BEAT_WINDOWS = 10 };

/* How often a row's calls came in equal windows of time, one after the other. */
struct nd_beat_counts {
    int64_t n[ND_BEAT_WINDOWS];
    int is_polling; /* 1: it asks whether something has come (test, iprobe): its number says nothing about
                       progress */
    int is_synchronising; /* 1: all ranks meet in it */
};

/* The row that repeats most regularly: of those whose counts scatter little more than the least (relative
 * standard deviation, and half a call for where a window ends), one where ranks meet, else the most frequent.
 * -1: none comes in every second window at least. */
int nd_beats_choose(const struct nd_beat_counts *rows, int n_rows);

/* After how many beats their distances repeat, by autocorrelation; 1 where they do not. n beats ended
 * `at_ns`, in order. */
int64_t nd_beats_period(const int64_t *at_ns, int n);

int64_t nd_beats_median_ns(const int64_t *at_ns, int n);
