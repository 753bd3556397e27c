#include "detector/acceptance/pairing.h"

int nx_rounds(int n) { return n < 2 ? 0 : n - 1 + n % 2; }

/* Player `fixed` stays, the others sit on a circle that turns by one place a round; who faces whom has equal sums modulo the circle's size.
 * With an odd number the fixed player does not exist, and its partner rests. */
int nx_partner(int n, int round, int player) {
    int circle = nx_rounds(n), fixed = circle;
    if (circle == 0) return -1;
    if (player == fixed) { /* faces the one that would face itself: 2 p = round */
        for (int p = 0; p < circle; p++)
            if (2 * p % circle == round) return p;
        return -1;
    }
    int partner = (round - player + circle) % circle;
    if (partner == player) partner = fixed;
    return partner < n ? partner : -1;
}

int nx_covering_rounds(int n) { return n <= NX_ALL_PAIRS_NODES ? nx_rounds(n) : NX_COVER_ROUNDS; }

int nx_covering_round(int n, int k) { return (int)((long)k * nx_rounds(n) / nx_covering_rounds(n)); }

int nx_alone_rounds(int n, int is_quick) {
    int n_rounds = nx_covering_rounds(n), n_pairs = n / 2;
    if (!is_quick || n_rounds == 0) return n_rounds;
    int most = NX_QUICK_ALONE_PAIRS / n_pairs;
    return most < 1 ? 1 : most < n_rounds ? most : n_rounds;
}
