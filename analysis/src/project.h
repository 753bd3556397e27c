#ifndef NOISELAB_PROJECT_H
#define NOISELAB_PROJECT_H

#include <R.h>
#include <Rinternals.h>

SEXP trace_columns(SEXP path, SEXP of_launch);
SEXP walk(SEXP n, SEXP period_s, SEXP range_s, SEXP costs_s, SEXP work_s, SEXP draws, SEXP circuits, SEXP steps, SEXP seed);
SEXP maxplus(SEXP pattern_names, SEXP n, SEXP bytes, SEXP machine_s, SEXP noise_s, SEXP costs_s, SEXP work_s, SEXP ends,
             SEXP draws, SEXP seed);
SEXP deeds(SEXP pattern_names, SEXP n, SEXP bytes, SEXP machine_s, SEXP noise_s, SEXP costs_s, SEXP work_s, SEXP steps, SEXP seed);
SEXP bursts(SEXP n, SEXP noise_s, SEXP costs_s, SEXP span_s, SEXP seed);

#endif
