/* What R may call. */
#include "project.h"

#include <R_ext/Rdynload.h>

static const R_CallMethodDef calls[] = {
    {"bursts", (DL_FUNC)&bursts, 6},    {"deeds", (DL_FUNC)&deeds, 10},
    {"maxplus", (DL_FUNC)&maxplus, 11}, {"trace_columns", (DL_FUNC)&trace_columns, 2},
    {"walk", (DL_FUNC)&walk, 10},       {NULL, NULL, 0},
};

void R_init_noiselab(DllInfo *info) {
    R_registerRoutines(info, NULL, calls, NULL, NULL);
    R_useDynamicSymbols(info, FALSE);
}
