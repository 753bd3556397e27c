/* splitmix64 (Steele, Lea & Flood 2014), whose state is one word. */
#include "tests/reference/reference.h"

#include <math.h>

static uint64_t mixed(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

uint64_t rs_bits(struct rs_random *random) { return mixed(random->state += 0x9e3779b97f4a7c15u); }

double rs_uniform(struct rs_random *random) { return ((double)(rs_bits(random) >> 11) + 0.5) * 0x1p-53; }

double rs_exponential(struct rs_random *random) { return -log(rs_uniform(random)); }

double rs_normal(struct rs_random *random) {
    double radius = sqrt(2 * rs_exponential(random));
    return radius * cos(2 * M_PI * rs_uniform(random));
}

struct rs_random rs_stream(uint64_t seed, uint64_t a, uint64_t b, uint64_t c) {
    uint64_t parts[] = {a, b, c}, state = mixed(seed + 0x632be59bd9b4e019u);
    for (size_t i = 0; i < 3; i++) state = mixed(state + 0x9e3779b97f4a7c15u * (parts[i] + 1));
    return (struct rs_random){state};
}
