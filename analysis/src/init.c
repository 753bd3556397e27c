/* What R may call. */
#include "project.h"
#include "select.h"

#include <R_ext/Rdynload.h>

static const R_CallMethodDef calls[] = {
    {"bursts", (DL_FUNC)&bursts, 5},
    {"column_ranks", (DL_FUNC)&column_ranks, 2},
    {"deeds", (DL_FUNC)&deeds, 9},
    {"maxplus", (DL_FUNC)&maxplus, 10},
    {"drawn_signs", (DL_FUNC)&drawn_signs, 2},
    {"summed_harmonics", (DL_FUNC)&summed_harmonics, 3},
    {"train_sums", (DL_FUNC)&train_sums, 6},
    {"walk", (DL_FUNC)&walk, 9},
    {"walsh_rank", (DL_FUNC)&walsh_rank, 2},
    {NULL, NULL, 0},
};

void R_init_noiselab(DllInfo *info)
{
    R_registerRoutines(info, NULL, calls, NULL, NULL);
    R_useDynamicSymbols(info, FALSE);
}
