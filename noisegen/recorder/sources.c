/* The table of sources, best first. Which one is possible is tried, not guessed. */
#include "noisegen/recorder/sources.h"
#include "noisegen/recorder/source.h"

const struct nr_source *const nr_sources[] = {&nr_source_cpu, &nr_source_thread, &nr_source_schedstat,
                                              &nr_source_proc, NULL};

const struct nr_source *nr_source_find(const char *name) { return nl_find(nr_sources, name); }

int nr_source_choose(struct nr_recorder *r, const char *name) {
    int is_auto = strcmp(name, "auto") == 0;
    size_t used = 0;
    r->reason[0] = '\0';
    if (!is_auto && !nr_source_find(name))
        return nl_error("--source: '%s' is not a source (try auto, cpu, thread, schedstat)", name);
    for (int i = 0; nr_sources[i]; i++) {
        char why[256] = "";
        const struct nr_source *source = nr_sources[i];
        if (!is_auto && strcmp(source->name, name) != 0) continue;
        if (r->config.view == NR_VIEW_TASKS && !source->has_bursts && is_auto) continue;
        if (is_auto &&
            (r->config.view == NR_VIEW_ALL ? !source->sees_all : source->sees_all && !source->has_bursts))
            continue;
        if (source->open(r, why, sizeof why) == 0) {
            r->source = source;
            if (!is_auto && i > 0) snprintf(r->reason, sizeof r->reason, "asked for");
            return 0;
        }
        source->close(r);
        int n = snprintf(r->reason + used, sizeof r->reason - used, "%s%s: %s", used > 0 ? "; " : "",
                         source->name, why);
        if (n > 0) used += (size_t)n < sizeof r->reason - used ? (size_t)n : sizeof r->reason - used - 1;
    }
    return nl_error("cannot record %s: %s", is_auto ? "here by any source" : "by the source asked for",
                    r->reason);
}
