#include "detector/record/counter_rows.h"
#include "detector/record/record.h"

#include "common/contract/counters.h"

struct nd_node_rows *nd_counter_rows_open(const struct nd_options *o, const char *folder, const char *launch,
                                          int node, const char *host) {
    return nd_node_rows_open(o, folder, launch, node, host, "counters", NL_COUNTERS_HEADER);
}

int nd_counter_rows_add(struct nd_node_rows *rows, const struct nd_counter_half *half) {
    const struct nd_config *config = &rows->options->configs[half->step.config];
    struct nd_arm_words words;
    if (rows->files.has_failed) return -1;
    rows->files.n_rows++;
    nd_arm_tell(rows->options, half->step.level, &words);
    nl_put_counters(rows->file, rows->files.launch, rows->node, rows->host, config, half, &words);
    return nd_files_flush(&rows->files, rows->file, rows->name);
}
