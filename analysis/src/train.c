/* What the test of a train of bursts asks a few hundred times, at other places of the same record. */
#include "project.h"

/* The first place from `from` on whose value is above x, or, with `reaches`, is x or above it; n where none is. The values rise. */
static R_xlen_t first_above(const double *value, R_xlen_t n, R_xlen_t from, double x, int reaches)
{
    R_xlen_t low = from, high = from;
    for (R_xlen_t step = 1; high < n && (reaches ? value[high] < x : value[high] <= x); step *= 2) {
        low = high + 1;
        high += step;
    }
    if (high > n) high = n;
    while (low < high) {
        R_xlen_t middle = low + (high - low) / 2;
        if (reaches ? value[middle] < x : value[middle] <= x) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* What a train of windows holds on a record whose slices end at `ends` (from 0 up, ns) with the sums `sums` up to there: `begin` is a
 * matrix, a window per row and a place of the train per column; a window counts for at most `most` and, below 0, as much. Three rows per
 * place: the sum over the train, how many windows hold more than `most`, and how many more than `nearly`. */
SEXP train_sums(SEXP begin, SEXP length, SEXP ends, SEXP sums, SEXP most, SEXP nearly)
{
    int n = nrows(begin), places = ncols(begin);
    R_xlen_t n_ends = XLENGTH(ends);
    const double *p = REAL(begin), *end = REAL(ends), *sum = REAL(sums), *long_ns = REAL(length), *bound = REAL(most), *near = REAL(nearly);
    SEXP result = PROTECT(allocMatrix(REALSXP, 3, places));
    double *row = REAL(result);
    for (int place = 0; place < places; place++, p += n, row += 3) {
        long double total = 0;
        int over = 0, close = 0;
        R_xlen_t at = 0;
        for (int i = 0; i < n; i++) {
            /* windows follow each other, but for the one place where the record begins again */
            at = first_above(end, n_ends, i > 0 && p[i] >= p[i - 1] ? at : 0, p[i], 0);
            R_xlen_t from = at < 1 ? 1 : at < n_ends ? at : n_ends - 1;
            double last = p[i] + long_ns[i] < end[n_ends - 1] ? p[i] + long_ns[i] : end[n_ends - 1];
            R_xlen_t to = first_above(end, n_ends, from, last, 1);
            if (to > n_ends - 1) to = n_ends - 1;
            double held = sum[to] - sum[from - 1];
            total += held > bound[i] ? bound[i] : held < -bound[i] ? -bound[i] : held;
            over += held > bound[i];
            close += held > near[i];
        }
        row[0] = (double)total;
        row[1] = over;
        row[2] = close;
    }
    UNPROTECT(1);
    return result;
}
