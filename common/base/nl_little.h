/* Whole numbers in binary files: little-endian on every machine. */
#pragma once

#include "common/base/nl_usual.h"

/* A number as it stands in a file; the same function reads it back. */
static inline uint32_t nl_little32(uint32_t v) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return __builtin_bswap32(v);
#else
    return v;
#endif
}
