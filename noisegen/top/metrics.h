/* The metrics of noiselab top. */
#pragma once

#include "noisegen/top/print.h"

/* A number as printf("%.9g") writes it, somewhere in `text`. */
enum { NT_NUMBER_BYTES = 32 };
const char *nt_nine_digits(double value, char text[NT_NUMBER_BYTES]);

/* The file of them: whole, or the old one stays. The watch breathes meanwhile. @return 0, -1 with errno. */
int nt_write_metrics(const char *path, const struct nt_sample *sample, struct nt_watch *watch);
