/* What tests of the reference simulator share. */
#pragma once

#include "tests/reference/reference.h"
#include "tests/unit/unit.h"

/* The machine that words, separated by blanks, say. */
static struct rs_machine machine_of(const char *words) {
    struct rs_machine machine = RS_PLAIN;
    char copy[512], *left, *word;
    assert_true(strlen(words) < sizeof copy);
    strcpy(copy, words);
    for (word = strtok_r(copy, " ", &left); word; word = strtok_r(NULL, " ", &left)) {
        const char *wrong = rs_set(&machine, word);
        if (wrong) fail_msg("%s: %s", word, wrong);
    }
    const char *wrong = rs_complete(&machine);
    if (wrong) fail_msg("%s: %s", words, wrong);
    return machine;
}

/* Slowdown in percent, with its standard error. */
static struct rs_truth truth_of(const char *words, uint64_t nodes, double step_s, unsigned most_draws,
                                double precision) {
    struct rs_machine machine = machine_of(words);
    struct rs_truth truth;
    assert_int_equal(rs_find_truth(&machine, nodes, step_s, (struct rs_length){400, 20}, most_draws,
                                   precision, 1, NULL, &truth),
                     0);
    truth.slowdown *= 100;
    truth.error *= 100;
    truth.spread *= 100;
    return truth;
}

/* The slowdown is within three standard errors, and what is known of `wanted` besides. */
static void assert_truth(const char *words, uint64_t nodes, double step_s, unsigned most_draws,
                         double precision, double wanted, double known_to) {
    struct rs_truth truth = truth_of(words, nodes, step_s, most_draws, precision);
    double tolerance = 3 * sqrt(truth.error * truth.error + known_to * known_to);
    if (!(fabs(truth.slowdown - wanted) <= tolerance))
        fail_msg("%s, %d nodes, step %g s: %.6g +- %.3g, wanted %.6g +- %.3g", words, (int)nodes, step_s,
                 truth.slowdown, truth.error, wanted, known_to);
}
