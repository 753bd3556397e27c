/* What the kernel counts for a rank and on its CPUs, over the profile. */
#pragma once

#include "detector/profile/profile_file.h"

/* Counters of the kernel: the first reading, and what came since; nothing without a first one, and no second
 * time. Each takes as long as it takes to read three files of /proc, some milliseconds on many CPUs. */
void nf_counters_begin(void);
void nf_counters_end(struct nf_counters *counters);
