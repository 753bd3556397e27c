/* Skips a test with its reason, a format and its arguments, which tests/run.sh shows beside the test's name. */
#ifndef NL_TEST_SKIP_H
#define NL_TEST_SKIP_H

#define SKIP(...)                                                                                                                          \
    do {                                                                                                                                   \
        print_message("skipped: " __VA_ARGS__);                                                                                            \
        print_message("\n");                                                                                                               \
        skip();                                                                                                                            \
    } while (0)

#endif
