/* Every start of every rank in a binary file (docs/reference/formats.md, Raw file). Rank 0 writes; the others hand in their part. */
#pragma once

#include <jansson.h>

#include "detector/measure/starts.h"

/* Opens `path` (which must not exist yet) and writes the header. Collective; `path` and `header` (borrowed) count on rank 0 only.
 * @return 0, or -1 after a message (the same on all ranks). */
int nd_raw_open(struct nd_raw **raw, const struct nd_team *team, const char *path, const json_t *header);

/* Appends a batch: s->records, s->n_done .. as one block or several. Collective.
 * @param n_switches involuntary context switches of this rank during the batch. 0, or -1 on rank 0 when the file cannot be written. */
int nd_raw_write(struct nd_raw *raw, const struct nd_starter *s, const struct nd_batch_view *view, const int64_t *overshoots_ns,
                 int64_t n_switches);

void nd_raw_close(struct nd_raw *raw); /* NULL is fine */
