/* Files of single starts. */
#pragma once

#include "detector/record/record.h"

/* Every start of every rank in a binary file (docs/reference/formats.md, Raw file). Opens `path`, which must
 * not exist, and writes the header; both count on rank 0 only. Collective; 0, or -1 after a message. */
int nd_raw_open(struct nd_raw **raw, const struct nd_team *team, const char *path, const json_t *header);

/* Appends a batch: s->records, s->n_done .. as blocks. Collective. 0, or -1 on rank 0 when the file cannot be
 * written. */
int nd_raw_write(struct nd_raw *raw, const struct nd_starter *s, int n_starts, int64_t n_switches);

void nd_raw_close(struct nd_raw *raw); /* NULL is fine */
