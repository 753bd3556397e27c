#include "detector/halves/pairs.h"
#include "detector/halves/half_sum.h"

struct nd_pairs {
    int n_arms;
    double
        *current; /* n_configs x n_arms: values of the pair or set in progress, NaN: not yet, or not known */
    struct nd_moments *sums; /* n_configs x n_arms */
};

struct nd_pairs *nd_pairs_open(int n_configs, int n_arms) {
    struct nd_pairs *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->n_arms = n_arms;
    if (!NL_NEW(p->current, n_configs * n_arms) || !NL_NEW(p->sums, n_configs * n_arms)) {
        nd_pairs_close(p);
        return NULL;
    }
    return p;
}

static void add(struct nd_moments *m, double d) {
    double delta = d - m->mean;
    m->n++;
    m->mean += delta / (double)m->n;
    m->m2 += delta * (d - m->mean);
}

void nd_pairs_half(struct nd_pairs *p, int config, const struct nd_step *step, double value) {
    double *now = p->current + config * p->n_arms;
    struct nd_moments *sums = p->sums + config * p->n_arms;
    int arm = step->level + 1; /* ND_OFF is -1 */
    if (step->order == 0)
        for (int i = 0; i < p->n_arms; i++)
            now[i] = NAN;
    now[arm] = value;
    for (int i = 1; i < p->n_arms; i++)
        if ((i == arm || arm == 0) && isfinite(now[0]) && isfinite(now[i])) add(&sums[i], now[i] - now[0]);
}

const struct nd_moments *nd_pairs_of(const struct nd_pairs *p, int config, int arm) {
    return &p->sums[config * p->n_arms + arm];
}

void nd_pairs_close(struct nd_pairs *p) {
    if (!p) return;
    NL_FREE(p->current, p->sums, p);
}
