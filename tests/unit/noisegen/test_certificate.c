/* Certificate: whether what was asked for was delivered. */
#include "noisegen/worker.h"
#include "tests/unit/unit.h"
#include "noisegen/certificate.h"

/* Under a detector, at one level: ns asked for, delivered, and still owed, at a tolerance of 5 %. A wake-up
 * costs 20 us as long as none was seen. */
static int ok_of(double requested_ns, int64_t delivered_ns, double owed_ns) {
    static struct ng_options options = {.tolerance_percent = 5};
    static struct ng_worker worker;
    memset(&worker, 0, sizeof worker);
    worker.levels[1].is_used = 1;
    worker.levels[1].account =
        (struct ng_account){.requested = requested_ns, .delivered_ns = delivered_ns, .owed = owed_ns};
    struct ng_certificate c = {.options = &options,
                               .workers = &worker,
                               .n_workers = 1,
                               .n_levels = NL_CONTROL_MAX_LEVELS,
                               .ended = "complete"};
    return ng_certificate_ok(&c);
}

TEST(what_is_saved_for_one_wake_up_counts_as_delivered_and_no_more) {
    assert_int_equal(ok_of(1e9, 960000000, 0), 1);
    assert_int_equal(ok_of(1e9, 940000000, 0), 0);
    assert_int_equal(ok_of(1e9, 1060000000, 0), 0);
    /* 10 us of 100 are saved for the next wake-up; of more than one wake-up costs only that much is */
    assert_int_equal(ok_of(1e5, 90000, 1e4), 1);
    assert_int_equal(ok_of(1e5, 60000, 4e4), 0);
    assert_int_equal(ok_of(1e9, 500000000, 5e8), 0);
    /* and in advance */
    assert_int_equal(ok_of(1e5, 115000, -15e3), 1);
    assert_int_equal(ok_of(1e9, 1500000000, -5e8), 0);
    /* whoever delivered nothing saved nothing */
    assert_int_equal(ok_of(1e4, 0, 1e4), 0);
    assert_int_equal(ok_of(0, 0, 0), -1);
}
