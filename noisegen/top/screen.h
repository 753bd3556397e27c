/* The full screen of noiselab top. */
#pragma once

#include "noisegen/top/print.h"

/* NULL where this terminal cannot: why says why. */
struct nt_screen *nt_screen_open(char *why, size_t size);
void nt_screen_close(struct nt_screen *screen);

/* Rows of tasks that there is room for. */
int nt_screen_rows(const struct nt_screen *screen, int n_cpus);

/* Draws the sample (NULL: the one before, again), unless the screen is paused; bursts of the task that is
 * looked at come from the watch. */
void nt_screen_draw(struct nt_screen *screen, const struct nt_sample *sample, struct nt_watch *watch,
                    enum nt_sort sort);

/* Takes the keys that were pressed. With NT_OTHER_CPUS `cpus` holds the list that was typed, "" for all. */
enum nt_screen_wish nt_screen_keys(struct nt_screen *screen, char *cpus, size_t size);

/* A line at the bottom until the next key. */
void nt_screen_say(struct nt_screen *screen, const char *text);
