#ifndef NOISELAB_PROJECT_H
#define NOISELAB_PROJECT_H

#include <R.h>
#include <Rinternals.h>

SEXP trace_columns(SEXP path, SEXP of_launch);
SEXP walk(SEXP first, SEXP length_s, SEXP share, SEXP start_s, SEXP cost_s, SEXP cpu, SEXP rate_hz,
          SEXP job_form, SEXP draws, SEXP seed);
SEXP maxplus(SEXP pattern_names, SEXP n, SEXP bytes, SEXP machine_s, SEXP noise_s, SEXP costs_s, SEXP work_s,
             SEXP ends, SEXP draws, SEXP seed, SEXP train);
SEXP deeds(SEXP pattern_names, SEXP n, SEXP bytes, SEXP machine_s, SEXP noise_s, SEXP costs_s, SEXP work_s,
           SEXP steps, SEXP seed, SEXP train);
SEXP bursts(SEXP n, SEXP noise_s, SEXP costs_s, SEXP span_s, SEXP seed, SEXP train);

#endif
