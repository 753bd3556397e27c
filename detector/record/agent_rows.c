#include "detector/record/agent_rows.h"
#include "detector/record/record.h"

#include "common/contract/agent.h"

struct nd_node_rows *nd_agent_rows_open(const struct nd_options *o, const char *folder, const char *launch,
                                        int node, const char *host) {
    return nd_node_rows_open(o, folder, launch, node, host, "agent", NL_AGENT_HEADER);
}

int nd_agent_rows_add(struct nd_node_rows *rows, const struct nd_agent_half *half) {
    const struct nd_config *config = &rows->options->configs[half->step.config];
    struct nd_arm_words words;
    FILE *f = rows->file;
    if (rows->files.has_failed) return -1;
    if (rows->files.n_rows++ == 0) rows->zero_ns = half->ranks->start_ns;
    nd_arm_tell(rows->options, half->step.level, &words);
    nl_put_agent(f, rows->files.launch, rows->node, rows->host, config, half, &half->account, &words,
                 rows->zero_ns);
    return nd_files_flush(&rows->files, f, rows->name);
}
