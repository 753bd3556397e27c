/* What the kernel counts on CPUs, from a /proc of our own. */
#include "common/sys/nl_kernel.h"
#include "tests/unit/files.h"

static const unsigned char first[] = {1, 0, 0}, last_two[] = {0, 1, 1};

/* CPU 1 is offline: the tables' columns are CPUs 0 and 2. */
static void put_tables(unsigned timer0, unsigned timer2) {
    char text[2048];
    snprintf(text, sizeof text,
             "           CPU0       CPU2       \n"
             " 24:          1          2  IO-APIC   5-edge      ACPI:Ged\n"
             " 38:        100       5522 PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.0\n"
             "NMI:          3          4   Non-maskable interrupts\n"
             "LOC: %10u %10u   Local timer interrupts\n"
             "RES:         20         30   Rescheduling interrupts\n"
             "CAL:         50         60   Function call interrupts\n"
             "TLB:          7          8   TLB shootdowns\n"
             "ERR:          9\n"
             "MIS:          0\n",
             timer0, timer2);
    put("interrupts", text);
    put("softirqs", "                    CPU0       CPU2       \n"
                    "          HI:          1          2\n"
                    "       TIMER:         10         20\n"
                    "      NET_TX:          3          4\n"
                    "      NET_RX:         30         40\n"
                    "       BLOCK:          5          6\n"
                    "     TASKLET:          7          8\n"
                    "       SCHED:         70         80\n"
                    "     HRTIMER:        100        200\n"
                    "         RCU:        300        400\n");
    put("schedstat", "version 15\ntimestamp 4294937296\ncpu0 0 0 0 0 0 0 111 222 333\ndomain0 3 0 0 0\ncpu2 "
                     "0 0 0 0 0 0 11 22 33\n");
}

static void read_of(const unsigned char *watched, int64_t counts[NL_N_KERNEL]) {
    struct nl_kernel *k = nl_kernel_open(folder, watched, 3);
    assert_non_null(k);
    nl_kernel_read(k, counts);
    nl_kernel_close(k);
}

TEST_WITH(columns_are_the_cpus_of_the_first_line_and_kinds_go_by_words, make_folder, remove_tree) {
    int64_t of_first[NL_N_KERNEL], of_others[NL_N_KERNEL];
    static const int64_t wanted_first[NL_N_KERNEL] = {1000, 20, 50, 7,  101, 3,   110,
                                                      33,   5,  8,  70, 300, 333, 222},
                         wanted_others[NL_N_KERNEL] = {2000, 30, 60, 8,  5524, 4,  220,
                                                       44,   6,  10, 80, 400,  33, 22};
    put_tables(1000, 2000);
    read_of(first, of_first);
    read_of(last_two, of_others);
    for (int i = 0; i < NL_N_KERNEL; i++) {
        assert_int_equal(of_first[i], wanted_first[i]);
        assert_int_equal(of_others[i], wanted_others[i]);
    }
}

TEST_WITH(on_arm_the_timer_has_a_number_and_calls_have_other_labels, make_folder, remove_tree) {
    int64_t counts[NL_N_KERNEL];
    put_tables(1, 1);
    put("interrupts", "           CPU0       CPU1       \n"
                      " 11:     123456     234567     GICv3  27 Level     arch_timer\n"
                      " 42:         17          0     GICv3  64 Level     nvme0q1\n"
                      "IPI0:        91         92       Rescheduling interrupts\n"
                      "IPI1:        93         94       Function call interrupts\n"
                      "IPI2:         0          0       CPU stop interrupts\n"
                      "Err:          0\n");
    read_of(first, counts);
    assert_int_equal(counts[NL_IRQ_TIMER], 123456);
    assert_int_equal(counts[NL_IRQ_DEVICE], 17);
    assert_int_equal(counts[NL_IRQ_RESCHEDULE], 91);
    assert_int_equal(counts[NL_IRQ_CALL], 93);
    assert_int_equal(counts[NL_IRQ_TLB], 0);
}

TEST_WITH(what_is_not_there_is_not_known_and_named, make_folder, remove_tree) {
    int64_t counts[NL_N_KERNEL];
    char problem[100];
    put_tables(1, 1);
    put("schedstat", "version 17\ncpu0 0 0 0\n");
    put("softirqs", "no table\n");
    struct nl_kernel *k = nl_kernel_open(folder, first, 3);
    nl_kernel_read(k, counts);
    assert_int_equal(counts[NL_IRQ_TIMER], 1);
    assert_int_equal(counts[NL_SOFTIRQ_NET], -1);
    assert_int_equal(counts[NL_CPU_SWITCHES], -1);
    assert_int_equal(counts[NL_CPU_WAITED], -1);
    nl_kernel_problem(k, problem, sizeof problem);
    assert_string_equal(problem, "softirqs, schedstat");
    nl_kernel_close(k);
}

TEST_WITH(a_reading_sees_what_came_since_the_one_before, make_folder, remove_tree) {
    int64_t before[NL_N_KERNEL], after[NL_N_KERNEL], between[NL_N_KERNEL];
    put_tables(4294967290u, 0);
    struct nl_kernel *k = nl_kernel_open(folder, first, 3);
    nl_kernel_read(k, before);
    put("interrupts",
        "           CPU0       CPU2       \nLOC:         14          0   Local timer interrupts\n");
    nl_kernel_read(k, after);
    nl_kernel_between(before, after, between);
    /* the kernel's number has 32 bits */
    assert_int_equal(between[NL_IRQ_TIMER], 20);
    assert_int_equal(between[NL_SOFTIRQ_NET], 0);
    after[NL_SOFTIRQ_NET] = -1;
    nl_kernel_between(before, after, between);
    assert_int_equal(between[NL_SOFTIRQ_NET], -1);
    assert_true(nl_kernel_reading_ns(k) > 0);
    /* much less than what is slept between */
    int64_t wake_ns = nl_kernel_wake_ns();
    assert_true(wake_ns > 0);
    int64_t from_ns = nl_thread_cpu_ns();
    nl_kernel_wake_ns();
    assert_true(nl_thread_cpu_ns() - from_ns >= wake_ns);
    nl_kernel_close(k);
}

TEST_WITH(a_table_of_many_cpus_is_read_whole, make_folder, remove_tree) {
    enum { CPUS = 2000, ROWS = 60 };
    static unsigned char all[CPUS];
    static char text[CPUS * ROWS * 12];
    int64_t counts[NL_N_KERNEL];
    size_t n = 0;
    put_tables(1, 1);
    for (int i = 0; i < CPUS; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, " CPU%d", i);
    for (int row = 0; row < ROWS; row++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "\n%d:", row);
        for (int i = 0; i < CPUS; i++)
            n += (size_t)snprintf(text + n, sizeof text - n, " 1");
        n += (size_t)snprintf(text + n, sizeof text - n, " device");
    }
    put("interrupts", text);
    memset(all, 1, sizeof all);
    struct nl_kernel *k = nl_kernel_open(folder, all, CPUS);
    nl_kernel_read(k, counts);
    assert_int_equal(counts[NL_IRQ_DEVICE], CPUS * ROWS);
    nl_kernel_close(k);
}
