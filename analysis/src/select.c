/* What the tests of one cell ask a few hundred times, for other signs or at other places, of the same values. */
#include "select.h"

#include <R_ext/Utils.h>

#include <math.h>
#include <string.h>

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

/* A matrix of signs, +1 and -1, each as likely, from R's random numbers, column by column. */
SEXP drawn_signs(SEXP rows, SEXP columns)
{
    SEXP result = PROTECT(allocMatrix(REALSXP, asInteger(rows), asInteger(columns)));
    double *sign = REAL(result);
    R_xlen_t n = XLENGTH(result);
    GetRNGstate();
    for (R_xlen_t i = 0; i < n; i++) sign[i] = unif_rand() < 0.5 ? 1 : -1;
    PutRNGstate();
    UNPROTECT(1);
    return result;
}

/* Of each column of x the values of these ranks (1: the smallest), a row per rank. */
SEXP column_ranks(SEXP x, SEXP ranks)
{
    int n = nrows(x), columns = ncols(x), wanted = LENGTH(ranks);
    SEXP result = PROTECT(allocMatrix(REALSXP, wanted, columns));
    double *copy = (double *)R_alloc((size_t)n, sizeof *copy);
    for (int column = 0; column < columns; column++) {
        memcpy(copy, REAL(x) + (size_t)column * (size_t)n, (size_t)n * sizeof *copy);
        for (int i = 0; i < wanted; i++) {
            rPsort(copy, n, INTEGER(ranks)[i] - 1);
            REAL(result)[(size_t)column * (size_t)wanted + (size_t)i] = copy[INTEGER(ranks)[i] - 1];
        }
    }
    UNPROTECT(1);
    return result;
}

/* Of each column of x the average of that rank among all averages of two of its values, or of one and itself. */
SEXP walsh_rank(SEXP x, SEXP rank)
{
    int n = nrows(x), columns = ncols(x), at = asInteger(rank) - 1, averages = n * (n + 1) / 2;
    SEXP result = PROTECT(allocVector(REALSXP, columns));
    double *average = (double *)R_alloc((size_t)averages, sizeof *average);
    const double *value = REAL(x);
    for (int column = 0; column < columns; column++, value += n) {
        int k = 0;
        for (int i = 0; i < n; i++)
            for (int j = i; j < n; j++) average[k++] = (value[i] + value[j]) / 2;
        rPsort(average, averages, at);
        REAL(result)[column] = average[at];
    }
    UNPROTECT(1);
    return result;
}

/* Sums of z at `n` harmonics of each of these places: those nearest to 1/n, 2/n, ... of it (a half goes to the even one). */
SEXP summed_harmonics(SEXP z, SEXP places, SEXP n)
{
    R_xlen_t n_places = XLENGTH(places);
    int n_sum = asInteger(n);
    const double *value = REAL(z);
    SEXP result = PROTECT(allocVector(REALSXP, n_places));
    for (R_xlen_t i = 0; i < n_places; i++) {
        double sum = 0, place = INTEGER(places)[i];
        for (int k = 1; k <= n_sum; k++) sum += value[(R_xlen_t)nearbyint(place * k / n_sum) - 1];
        REAL(result)[i] = sum;
    }
    UNPROTECT(1);
    return result;
}
