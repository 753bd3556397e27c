/* A launch from the first collective to the last file. */
#pragma once

#include "detector/treatment/companion.h"
#include "detector/record/record.h"
#include "detector/options/options.h"
#include "detector/treatment/treatment.h"
#include "detector/record/markers.h"

/* How a launch ended; the same on all ranks. */
enum nd_end {
    ND_END_COMPLETE,
    ND_END_INTERRUPTED,
    ND_END_FAILED,
    ND_END_NO /* it worked, and the answer to what was asked is no */
};

/* Runs a launch. Collective over MPI_COMM_WORLD. This node's children, NULL elsewhere, are stopped, not
 * freed. `has_failed`: this rank found something wrong before MPI_Init (and said so): all ranks then end.
 * `stop_asked`: it ends after the half in progress. */
enum nd_end nd_run(const struct nd_options *o, struct nd_treatment *treatment, struct nd_companion *companion,
                   struct nd_markers *markers, int has_failed, const volatile int *stop_asked);
