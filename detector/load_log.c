/* A launch's slices and its generator's bursts: making the files, and from half to half. */
#include "detector/load_log.h"
#include "detector/run_state.h"
#include "detector/treatment/burst_log.h"

static int open_slices(struct nd_run *r, const char *host) {
    char path[PATH_MAX + ND_HOST_BYTES + 32];
    struct nd_binding binding;
    nd_binding_read(&binding, r->team.rank);
    json_t *header = nd_launch_json_slices_header(r->folder.launch, r->o, &binding);
    snprintf(path, sizeof path, "%s/slices.%s.bin", r->folder.path, host);
    r->leader.load_log.slices = calloc(1, sizeof *r->leader.load_log.slices);
    int failed = !r->leader.load_log.slices || nd_slices_open(&r->leader.load_log.slices->file, path, header);
    if (failed) nl_warn("cannot make '%s': %s; this node's slices are not kept", path, strerror(errno));
    json_decref(header);
    return failed;
}

static int open_bursts(struct nd_run *r, const char *host) {
    char path[PATH_MAX + ND_HOST_BYTES + 32];
    if (!r->leader.treatment) return 0;
    snprintf(path, sizeof path, "%s/generator.%s.trace", r->folder.path, host);
    r->leader.load_log.bursts = nd_burst_log_open(path, host, r->leader.treatment);
    if (!r->leader.load_log.bursts)
        nl_warn("cannot make '%s': %s; when its generator ran is not kept", path, strerror(errno));
    r->leader.load_log.slices->bursts = r->leader.load_log.bursts;
    return r->leader.load_log.bursts == NULL;
}

int nd_load_log_open(struct nd_run *r) {
    char host[ND_HOST_BYTES] = "";
    int failed = 0;
    if (!nd_options_has_agent(r->o) && !nd_options_has_generator(r->o)) return 0;
    if (r->root.record) {
        failed = !realpath(r->root.record->files.folder, r->folder.path);
        if (failed) nl_error("cannot find '%s' again: %s", r->root.record->files.folder, strerror(errno));
        snprintf(r->folder.launch, sizeof r->folder.launch, "%s", r->root.record->files.launch);
    }
    MPI_Bcast(&r->folder, sizeof r->folder, MPI_BYTE, 0, r->team.world);
    if (nd_run_agree_failed(r, failed)) return -1;
    gethostname(host, sizeof host - 1);
    /* a launch is good without: folders may be those of the first node alone */
    if (!r->starter && !r->program && (r->leader.treatment || r->agent.companion) &&
        (open_slices(r, host) || open_bursts(r, host)))
        nd_load_log_close(r);
    return 0;
}

struct nd_slices *nd_load_log_begin(struct nd_run *r, const struct nd_step *step, int is_recorded) {
    struct nd_slices *s = r->leader.load_log.slices;
    if (!s) return NULL;
    s->step = is_recorded ? step : NULL;
    s->n_per_slice = nd_slices_operations(r->cells[step->config].pilot_ns);
    if (is_recorded) nd_burst_log_begin(r->leader.load_log.bursts, nl_mono_ns());
    return s;
}

/* Notes a failure to write, once: where a disk is full, what the record cannot write either has been said
 * with it. */
static void note_failure(struct nd_run *r, const char *name, int failed) {
    if (!failed) return;
    if (!(r->flags & ND_FLAG_RECORD))
        nl_error("--out: cannot write '%s/%s': %s; what was taken before it is kept", r->folder.path, name,
                 strerror(errno));
    nd_run_missed_rows(r);
}

void nd_load_log_keep(struct nd_run *r) {
    struct nd_slices *s = r->leader.load_log.slices;
    if (!s || r->flags & ND_FLAG_RECORD) return;
    note_failure(r, "slices", nd_slices_write(s) || s->has_failed);
    note_failure(r, "generator's bursts", nd_burst_log_write(r->leader.load_log.bursts));
}

void nd_load_log_end(struct nd_run *r) {
    if (!r->leader.load_log.bursts) return;
    if (r->leader.node_end)
        r->leader.node_end->n_lost_bursts = nd_burst_log_n_lost(r->leader.load_log.bursts);
    note_failure(r, "generator's bursts", nd_burst_log_close(r->leader.load_log.bursts));
    r->leader.load_log.bursts = r->leader.load_log.slices->bursts = NULL;
}

void nd_load_log_close(struct nd_run *r) {
    struct nd_load_log *log = &r->leader.load_log;
    if (log->slices) nd_slices_close(log->slices->file);
    free(log->slices);
    nd_burst_log_close(log->bursts);
    *log = (struct nd_load_log){0};
}
