/* When a loop of starts may stop: how well its median is known. */
#include "detector/starts/starter.h"
#include "tests/unit/unit.h"

/* 1..1001: median 501; 99 % interval at 501 -+ 2.5758 sqrt(1001) / 2 = 40.75, outwards to whole ranks: 42
 * ranks on either side at most. */
TEST(the_precision_of_a_median_is_that_of_its_order_statistics) {
    struct nl_hist *h = calloc(1, sizeof *h);
    assert_non_null(h);
    assert_true(nd_median_precision_percent(h) == 100);
    nl_hist_add(h, 5);
    assert_true(nd_median_precision_percent(h) == 100); /* one value says nothing of its spread */
    memset(h, 0, sizeof *h);
    for (int i = 1; i <= 1001; i++)
        nl_hist_add(h, i);
    double wanted = 100 * 41.5 / 501;
    assert_true(fabs(nd_median_precision_percent(h) - wanted) < 0.4);
    memset(h, 0, sizeof *h);
    for (int i = 0; i < 1000; i++)
        nl_hist_add(h, 100);
    assert_true(nd_median_precision_percent(h) == 0); /* below 128 bins are exact */
    free(h);
}
