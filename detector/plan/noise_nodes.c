#include "detector/plan/plan.h"
#include "common/base/nl_error.h"
#include "detector/nodes/provenance.h"
#include "detector/nodes/team.h"

enum { NAMES_BYTES = 600 };

int nd_host_is_called(const char *host, const char *name) {
    size_t n_host = strcspn(host, "."), n_name = strcspn(name, ".");
    if (host[n_host] && name[n_name]) return strcasecmp(host, name) == 0;
    return n_host == n_name && strncasecmp(host, name, n_host) == 0;
}

/* Index of the first name in the list that means the host, from `from` on; -1: none does. */
static int find_name(const struct nd_nodes *nodes, const char *host, int from) {
    for (int i = from; i < nodes->hosts.n; i++)
        if (nd_host_is_called(host, nodes->hosts.names[i])) return i;
    return -1;
}

int nd_nodes_hold(const struct nd_nodes *nodes, const char *host, int has_rank_0) {
    if (nodes->which == ND_NODES_LISTED) return find_name(nodes, host, 0) >= 0;
    return nodes->which == ND_NODES_ALL || has_rank_0;
}

/* The launch's nodes, as far as they go into a line. */
struct names { char text[NAMES_BYTES]; size_t n_bytes; int n_left_out; };

static void add_name(void *context, int rank, const void *host) {
    struct names *names = context;
    (void)rank;
    if (names->n_bytes + ND_HOST_BYTES + 2 > sizeof names->text) names->n_left_out++;
    else
        names->n_bytes += (size_t)snprintf(names->text + names->n_bytes, sizeof names->text - names->n_bytes, "%s%s",
                                           names->n_bytes ? ", " : "", (const char *)host);
}

void nd_nodes_count(const struct nd_nodes *nodes, const char *host, int *n_meant) {
    for (int i = find_name(nodes, host, 0); i >= 0; i = find_name(nodes, host, i + 1)) {
        n_meant[i]++;
        n_meant[nodes->hosts.n + i] += strcasecmp(host, nodes->hosts.names[i]) != 0;
    }
}

int nd_nodes_find_wrong(const struct nd_nodes *nodes, const int *n_meant) {
    const int *n_otherwise = n_meant + nodes->hosts.n;
    for (int i = 0; i < nodes->hosts.n; i++)
        if (n_meant[i] == 0 || (n_meant[i] > 1 && n_otherwise[i] > 0)) return i;
    return -1;
}

int nd_nodes_check(const struct nd_nodes *nodes, const struct nd_team *team, const char *host) {
    int n_meant[2 * ND_MAX_NODES_LISTED] = {0}, wrong;
    char mine[ND_HOST_BYTES] = "", more[32] = "";
    struct names names = {.n_bytes = 0};
    if (nodes->which != ND_NODES_LISTED) return 0;
    if (team->node_rank == 0) nd_nodes_count(nodes, host, n_meant);
    MPI_Allreduce(MPI_IN_PLACE, n_meant, 2 * nodes->hosts.n, MPI_INT, MPI_SUM, team->world);
    if ((wrong = nd_nodes_find_wrong(nodes, n_meant)) < 0) return 0; /* the same on all ranks */
    snprintf(mine, sizeof mine, "%s", host);
    if (team->node_rank == 0) nd_tree_gather(team->leaders, mine, sizeof mine, add_name, &names);
    if (names.n_left_out) snprintf(more, sizeof more, " and %d more", names.n_left_out);
    if (team->rank == 0)
        nl_error("--noise-nodes: %s '%s'; they are %s%s",
                 n_meant[wrong] ? "several nodes of this launch could be" : "no node of this launch is called", nodes->hosts.names[wrong],
                 names.text, more);
    return -1;
}

double nd_noise_phase(enum nd_phase phase, double own, double common, int index, int n) {
    if (phase == ND_PHASE_RANDOM) return own;
    double u = common + (phase == ND_PHASE_STAGGERED ? (double)index / n : 0);
    return u < 1 ? u : u - 1;
}
