#include "detector/design/spending.h"
#include "detector/design/schedule.h"

double nd_normal_tail(double z) { return 0.5 * erfc(z * M_SQRT1_2); }

/* Where a tail is p, between two places. */
static double bisect(double (*tail)(const void *of, double z), const void *of, double p, double low,
                     double high) {
    for (int i = 0; i < 2000; i++) {
        double z = (low + high) / 2;
        if (z == low || z == high) break;
        if (tail(of, z) > p)
            low = z;
        else
            high = z;
    }
    return (low + high) / 2;
}

static double normal_tail(const void *of, double z) { return (void)of, nd_normal_tail(z); }

double nd_normal_quantile(double p) { return bisect(normal_tail, NULL, p, -40, 40); }

/* Continued fraction of the incomplete beta function, for x < (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x) {
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double f = d;
    for (int m = 1; m < 20000; m++) {
        for (int half = 0; half < 2; half++) {
            double numerator = half == 0 ? m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
                                         : -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
            d = 1 + numerator * d;
            c = 1 + numerator / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            if (fabs(c) < tiny) c = tiny;
            f *= c * d;
        }
        if (fabs(c * d - 1) < 1e-16) break;
    }
    return f;
}

double nd_student_tail(double t, double df) {
    if (t <= 0) return t == 0 ? 0.5 : 1 - nd_student_tail(-t, df);
    double a = df / 2, b = 0.5, share = t * t / df;
    double x = 1 / (1 + share),
           rest = share / (1 + share); /* rest is 1 - x, without the loss of the subtraction */
    /* long double: at many degrees of freedom the logarithms of gamma are large and nearly cancel */
    double log_beta = (double)(lgammal((long double)a) + lgammal((long double)b) -
                               lgammal((long double)a + (long double)b));
    double front = exp(-a * log1p(share) + b * log(rest) - log_beta);
    if (x < (a + 1) / (a + b + 2)) return 0.5 * front * beta_fraction(a, b, x) / a;
    return 0.5 - 0.5 * front * beta_fraction(b, a, rest) / b;
}

static double student_tail(const void *of, double t) { return nd_student_tail(t, *(const double *)of); }

double nd_student_quantile(double p, double df) {
    double high = 1;
    while (nd_student_tail(high, df) > p)
        high *= 2;
    return bisect(student_tail, &df, p, 0, high);
}

static double obrien_fleming(double alpha, double t) {
    return t > 0 ? 2 * nd_normal_tail(nd_normal_quantile(alpha / 2) / sqrt(t)) : 0;
}

static double pocock(double alpha, double t) { return alpha * log1p(expm1(1) * t); }

static const struct nd_spending slow = {
    "obrien-fleming",
    "little at first: the last look is nearly that of a run without looks",
    obrien_fleming,
};
static const struct nd_spending even = {"pocock", "evenly: earlier ends, and a stricter last look", pocock};

const struct nd_spending *const nd_spendings[] = {&slow, &even, NULL};

void nd_look_rounds(int64_t n_rounds, int n_looks, int64_t *rounds) {
    for (int k = 1; k <= n_looks; k++)
        rounds[k - 1] = n_rounds / n_looks * k + (n_rounds % n_looks * k + n_looks - 1) / n_looks;
}

/* Gauss and Legendre's rule of six points on -1..1: the positive half. */
enum { N_POINTS = 6 };
static const double points[] = {0.2386191860831969, 0.6612093864662645, 0.9324695142031521};
static const double weights[] = {0.4679139345726910, 0.3607615730481386, 0.1713244923791704};
static const double lowest_z = -8; /* below it is nothing that counts: 6e-16 */

/* Where the sum of observations stands that has not crossed yet, as values of its density with the rule's
 * weights. */
struct nodes {
    int n;
    double *at, *weight; /* weight: of the rule x density */
};

/* Lays points on low..high in panels no wider than `width`. Weights are the rule's. */
static void lay(struct nodes *g, double low, double high, double width) {
    int n_panels = (int)ceil((high - low) / width);
    g->n = 0;
    for (int i = 0; i < n_panels; i++) {
        double half = (high - low) / n_panels / 2, centre = low + (2 * i + 1) * half;
        for (int j = 0; j < N_POINTS; j++, g->n++) {
            int k = j / 2;
            g->at[g->n] = centre + (j % 2 ? half : -half) * points[k];
            g->weight[g->n] = half * weights[k];
        }
    }
}

static double normal_density(double x, double sd) {
    return exp(-0.5 * (x / sd) * (x / sd)) / (sd * sqrt(2 * M_PI));
}

struct step {
    const struct nodes *from;
    double sd, scale;
};

/* Chance to be above z * scale for the first time after a step of SD `sd`. */
static double crossing(const void *of, double z) {
    const struct step *s = of;
    const struct nodes *g = s->from;
    double p = 0;
    for (int i = 0; i < g->n; i++)
        p += g->weight[i] * nd_normal_tail((z * s->scale - g->at[i]) / s->sd);
    return p;
}

int nd_spending_bounds(const struct nd_spending *spending, double alpha, const double *fractions, int n,
                       double *nominal_p) {
    double width = 1;
    for (int k = 0; k < n; k++)
        width = fmin(width, sqrt(fractions[k] - (k ? fractions[k - 1] : 0)));
    size_t most = (size_t)N_POINTS * (size_t)(ceil(48 / width) + 1);
    double *memory = calloc(4 * most, sizeof *memory);
    if (!memory) return -1;
    struct nodes now = {0, memory, memory + most}, next = {0, memory + 2 * most, memory + 3 * most};
    /* before the first step the sum is 0 */
    now.n = 1;
    now.at[0] = 0;
    now.weight[0] = 1;
    double before = 0, t_before = 0;
    for (int k = 0; k < n; k++) {
        double t = fractions[k], sd = sqrt(t - t_before), scale = sqrt(t), spent = spending->spent(alpha, t);
        double z = bisect(crossing, &(struct step){&now, sd, scale}, spent - before, -8, 40);
        nominal_p[k] = nd_normal_tail(z);
        lay(&next, lowest_z * scale, z * scale, width);
        for (int i = 0; i < next.n; i++) {
            double density = 0;
            for (int j = 0; j < now.n; j++)
                density += now.weight[j] * normal_density(next.at[i] - now.at[j], sd);
            next.weight[i] *= density;
        }
        struct nodes swap = now;
        now = next;
        next = swap;
        before = spent;
        t_before = t;
    }
    free(memory);
    return 0;
}
