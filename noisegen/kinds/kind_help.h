/* What several load kinds share. For prepare and clean_up only: nothing here may be called from `work`. */
#pragma once

#include "common/base/nl_usual.h"

/* The array that a kind walks. A kind that opens one has it as the first member of its state: tests look at what was written there. */
struct ng_array { unsigned char *bytes; size_t n_bytes; };

enum ng_pages {
    NG_PAGES_DEFAULT, /* as the machine is set */
    NG_PAGES_HUGE     /* aligned to 2 MiB and in huge pages where the machine gives them: physically contiguous, few TLB misses */
};

/* Allocates an array and touches all of it, after a look at whether the memory is there: the kernel promises more than it has, and would
 * only say so by killing somebody.
 * @return 0, -1 with a reason; then the array is empty. */
int ng_array_open(struct ng_array *array, int64_t n_bytes, enum ng_pages pages, char *reason, size_t reason_size);

/* Frees it; an empty one is fine. */
void ng_array_close(struct ng_array *array);

/* The clean_up of a kind whose state, from malloc, begins with its array and holds nothing else; NULL is fine. */
void ng_array_clean_up(void *state);
