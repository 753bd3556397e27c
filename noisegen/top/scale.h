/* What the noise of this node would cost on many. */
#pragma once

#include "noisegen/top/watch.h"

int nt_train_open(struct nt_watch *w);
void nt_train_close(struct nt_watch *w);

/* The record, and what was walked of it, begins anew. */
void nt_train_reset(struct nt_watch *w);

void nt_train_add(struct nt_watch *w, int cpu, int64_t start_ns, int64_t end_ns);

/* At the end of an interval: what the CPUs lost in it goes to the slots; old events go. */
void nt_train_turn(struct nt_watch *w);

/* Walks on, where it is time. */
void nt_scale(struct nt_watch *w, const struct nt_wish *wish, struct nt_scale *scale);
