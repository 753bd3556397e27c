#include "detector/plan/noise_nodes.h"
#include "detector/plan/plan.h"
#include "common/base/nl_error.h"
#include "detector/nodes/provenance.h"
#include "detector/nodes/team.h"
#include "detector/nodes/tree.h"

enum { NAMES_BYTES = 600 };

int nd_host_is_called(const char *host, const char *name) {
    size_t n_host = strcspn(host, "."), n_name = strcspn(name, ".");
    if (host[n_host] && name[n_name]) return strcasecmp(host, name) == 0;
    return n_host == n_name && strncasecmp(host, name, n_host) == 0;
}

int nd_nodes_hold(const struct nd_nodes *nodes, const char *host, int has_rank_0) {
    if (nodes->which != ND_NODES_LISTED) return nodes->which == ND_NODES_ALL || has_rank_0;
    for (int i = 0; i < nodes->hosts.n; i++)
        if (nd_host_is_called(host, nodes->hosts.names[i])) return 1;
    return 0;
}

/* The launch's nodes, as far as they go into a line. */
struct names {
    char text[NAMES_BYTES];
    size_t n_bytes;
    int n_left_out;
};

static void add_name(void *context, int rank, const void *host) {
    struct names *names = context;
    (void)rank;
    if (names->n_bytes + ND_HOST_BYTES + 2 > sizeof names->text)
        names->n_left_out++;
    else
        names->n_bytes += (size_t)snprintf(names->text + names->n_bytes, sizeof names->text - names->n_bytes,
                                           "%s%s", names->n_bytes ? ", " : "", (const char *)host);
}

int nd_nodes_check(const struct nd_nodes *nodes, const struct nd_team *team, const char *host) {
    int n_meant[ND_MAX_NODES_LISTED] = {0}, wrong = 0;
    char mine[ND_HOST_BYTES] = "", more[32] = "";
    struct names names = {.n_bytes = 0};
    if (nodes->which != ND_NODES_LISTED) return 0;
    for (int i = 0; i < nodes->hosts.n; i++)
        n_meant[i] = nd_host_is_called(host, nodes->hosts.names[i]);
    MPI_Allreduce(MPI_IN_PLACE, n_meant, nodes->hosts.n, MPI_INT, MPI_SUM, team->world);
    while (wrong < nodes->hosts.n && n_meant[wrong])
        wrong++;
    if (wrong == nodes->hosts.n) return 0; /* the same on all ranks */
    snprintf(mine, sizeof mine, "%s", host);
    if (team->node_rank == 0) nd_tree_gather(team->leaders, mine, sizeof mine, add_name, &names);
    if (names.n_left_out) snprintf(more, sizeof more, " and %d more", names.n_left_out);
    if (team->rank == 0)
        nl_error("--noise-nodes: no node of this launch is called '%s'; they are %s%s",
                 nodes->hosts.names[wrong], names.text, more);
    return -1;
}

double nd_noise_phase(enum nd_phase phase, double own, double common, int index, int n) {
    if (phase == ND_PHASE_RANDOM) return own;
    double u = common + (phase == ND_PHASE_STAGGERED ? (double)index / n : 0);
    return u < 1 ? u : u - 1;
}
