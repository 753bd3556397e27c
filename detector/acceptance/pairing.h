/* Which nodes are paired with which, so that every pair comes once: the rounds of a round-robin tournament, in each of which every node
 * has at most one partner, so that the pairs of a round can run at once. Pure. */
#ifndef NX_PAIRING_H
#define NX_PAIRING_H

enum {
    NX_ALL_PAIRS_NODES = 64,  /* up to so many nodes every pair is measured */
    NX_COVER_ROUNDS = 16,     /* beyond: so many rounds, spread over the tournament */
    NX_QUICK_ALONE_PAIRS = 120 /* --quick: pairs that are also measured one by one, in whole rounds, at least one */
};

/* Rounds in which all pairs of n players come once: n - 1, or n with an odd number (one player rests in each); 0 below two. */
int nx_rounds(int n);

/* Partner of a player (0..n-1) in a round (0..nx_rounds(n)-1); -1: it rests. Source: the circle method (Kirkman 1847). */
int nx_partner(int n, int round, int player);

/* How many rounds are run with n nodes, and which is the k-th of them: all, or a covering set spread evenly. */
int nx_covering_rounds(int n);
int nx_covering_round(int n, int k);

/* How many of these rounds are also run one pair at a time. */
int nx_alone_rounds(int n, int is_quick);

#endif
