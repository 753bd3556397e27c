#include "detector/plan/sequential.h"
#include "detector/plan/plan.h"
#include "detector/design/spending.h"
#include "detector/halves/pairs.h"

struct nd_sequential {
    const struct nd_options *options;
    struct nd_pairs *pairs;
    double fractions[ND_MAX_LOOKS], nominal_p[ND_MAX_LOOKS];
    struct nd_look look;
};

const char *const nd_decision_names[] = {[ND_OPEN] = "open", [ND_ABOVE] = "above", [ND_BELOW] = "below"};

void nd_sequential_decide(struct nd_look_cell *cell, double nominal_p, double margin_percent) {
    double margin = log1p(margin_percent / 100);
    cell->low = cell->high = NAN;
    cell->decision = ND_OPEN;
    if (cell->n < 2 || !(cell->sd > 0)) return;
    double reach = nd_student_quantile(nominal_p, (double)(cell->n - 1)) * cell->sd / sqrt((double)cell->n);
    cell->low = cell->mean - reach;
    cell->high = cell->mean + reach;
    if (cell->low > margin)
        cell->decision = ND_ABOVE;
    else if (margin_percent > 0 && cell->high < margin)
        cell->decision = ND_BELOW;
}

struct nd_sequential *nd_sequential_open(const struct nd_options *o) {
    const struct nd_sequential_options *plan = &o->sequential;
    struct nd_sequential *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    s->options = o;
    for (int k = 0; k < plan->n_looks; k++)
        s->fractions[k] = (double)plan->rounds[k] / (double)o->n_rounds;
    s->pairs = nd_pairs_open(o->n_configs, o->n_arms + 1);
    s->look.cells = calloc((size_t)(o->n_configs * o->n_arms), sizeof *s->look.cells);
    if (s->pairs && s->look.cells &&
        nd_spending_bounds(plan->spending, plan->alpha, s->fractions, plan->n_looks, s->nominal_p) == 0)
        return s;
    nd_sequential_close(s);
    return NULL;
}

void nd_sequential_half(struct nd_sequential *s, const struct nd_half *h) {
    int64_t took_ns = h->starts.n_starts ? h->starts.global_ns : h->all.wall_ns;
    nd_pairs_half(s->pairs, h->step.config, &h->step, log((double)took_ns / (double)h->n_operations));
}

static void fill_cell(const struct nd_sequential *s, struct nd_look_cell *cell) {
    const struct nd_moments *m = nd_pairs_of(s->pairs, cell->config, cell->arm + 1);
    cell->n = m->n;
    cell->mean = m->mean;
    cell->sd = m->n > 1 ? sqrt(m->m2 / (double)(m->n - 1)) : -1;
    nd_sequential_decide(cell, s->look.nominal_p, s->options->sequential.margin_percent);
}

const struct nd_look *nd_sequential_look(struct nd_sequential *s, int look) {
    const struct nd_options *o = s->options;
    struct nd_look *l = &s->look;
    l->look = look + 1;
    l->fraction = s->fractions[look];
    l->rounds = o->sequential.rounds[look];
    l->nominal_p = s->nominal_p[look];
    l->n_cells = l->n_decided = 0;
    for (int config = 0; config < o->n_configs; config++)
        for (int arm = 0; arm < o->n_arms; arm++) {
            if (nd_arm_is_placebo(&o->arms[arm])) continue; /* the placebo is a control */
            struct nd_look_cell *cell = &l->cells[l->n_cells++];
            cell->config = config;
            cell->arm = arm;
            fill_cell(s, cell);
            l->n_decided += cell->decision != ND_OPEN;
        }
    return l;
}

void nd_sequential_close(struct nd_sequential *s) {
    if (!s) return;
    nd_pairs_close(s->pairs);
    NL_FREE(s->look.cells, s);
}
