/* The figures of noiselab top, each with its title, unit and metric. */
#pragma once

#include "noisegen/top/top.h"

/* For people: "1.02ms", "0.31", "-" where it is not known. Returns text. */
const char *nt_format(const struct nt_field *field, const void *row, char *text, size_t size);

/* A number in the base unit (seconds, ratios); NAN: not known, or text. */
double nt_base_value(const struct nt_field *field, const void *row);
