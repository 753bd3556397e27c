#include "detector/record/record.h"

#include "common/contract/agent.h"

struct nd_agent_rows {
    const struct nd_options *options;
    const char *host;
    int node;
    struct nd_files files; /* of the launch's folder */
    char name[ND_HOST_BYTES + 16];
    FILE *file;
    int64_t zero_ns;
};

struct nd_agent_rows *nd_agent_rows_open(const struct nd_options *o, const char *folder, const char *launch,
                                         int node, const char *host) {
    struct nd_agent_rows *rows = calloc(1, sizeof *rows);
    if (!rows) {
        nl_error("no memory for the agent's rows");
        return NULL;
    }
    *rows = (struct nd_agent_rows){.options = o, .host = host, .node = node};
    snprintf(rows->files.folder, sizeof rows->files.folder, "%s", folder);
    snprintf(rows->files.launch, sizeof rows->files.launch, "%s", launch);
    snprintf(rows->name, sizeof rows->name, "agent.%s.csv", host);
    rows->file = nd_files_make(&rows->files, rows->name, "wxe");
    if (!rows->file) {
        free(rows);
        return NULL;
    }
    fputs(NL_AGENT_HEADER, rows->file);
    return rows;
}

int nd_agent_rows_add(struct nd_agent_rows *rows, const struct nd_agent_half *half) {
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

void nd_agent_rows_close(struct nd_agent_rows *rows) {
    if (!rows) return;
    fclose(rows->file);
    free(rows);
}
