#ifndef NOISELAB_SELECT_H
#define NOISELAB_SELECT_H

#include <R.h>
#include <Rinternals.h>

SEXP train_sums(SEXP begin, SEXP length, SEXP ends, SEXP sums, SEXP most, SEXP nearly);
SEXP drawn_signs(SEXP rows, SEXP columns);
SEXP column_ranks(SEXP x, SEXP ranks);
SEXP walsh_rank(SEXP x, SEXP rank);
SEXP summed_harmonics(SEXP z, SEXP places, SEXP n);

#endif
