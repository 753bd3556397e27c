#include "detector/record/node_rows.h"

#include "detector/record/record.h"

struct nd_node_rows *nd_node_rows_open(const struct nd_options *o, const char *folder, const char *launch,
                                       int node, const char *host, const char *kind, const char *header) {
    struct nd_node_rows *rows = calloc(1, sizeof *rows);
    if (!rows) {
        nl_error("no memory for the rows of %s.%s.csv", kind, host);
        return NULL;
    }
    *rows = (struct nd_node_rows){.options = o, .host = host, .node = node};
    snprintf(rows->files.folder, sizeof rows->files.folder, "%s", folder);
    snprintf(rows->files.launch, sizeof rows->files.launch, "%s", launch);
    snprintf(rows->name, sizeof rows->name, "%s.%s.csv", kind, host);
    rows->file = nd_files_make(&rows->files, rows->name, "wxe");
    if (!rows->file) {
        free(rows);
        return NULL;
    }
    fputs(header, rows->file);
    return rows;
}

void nd_node_rows_close(struct nd_node_rows *rows) {
    if (!rows) return;
    fclose(rows->file);
    free(rows);
}
