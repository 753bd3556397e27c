/* What launch.json holds of very many nodes: a launch's rank 0 keeps it in memory until the end. */
#include <malloc.h>

#include "detector/record/launch_json.h"
#include "tests/unit/unit.h"

enum { N_NODES = 10000, MOST_BYTES = 32 << 20 };

/* Read once, as a program does: what they name lives as long as it. */
static struct nd_options *options(void) {
    static struct nd_options o;
    if (o.n_arms > 0) return &o;
    static char *words[] = {"noiselab-detect", "--op", "barrier", "--levels", "0.1,1,5",
                            "--seconds",       "1",    "--out",   "nowhere",  NULL};
    assert_int_equal(nd_options_parse(9, words, 0, &o), 1);
    return &o;
}

/* A certificate as long as that of 64 threads. */
static void write_certificate(char *text, size_t size, const char *host) {
    size_t n = (size_t)snprintf(text, size,
                                "{\"host\": \"%s\", \"ok\": true, \"warnings\": [], \"threads\": [", host);
    for (int i = 0; i < 64; i++)
        n += (size_t)snprintf(text + n, size - n,
                              "%s{\"cpu\": %d, \"requested_ns\": 123456789, \"delivered_ns\": 123456789, "
                              "\"ratio\": 1.0, \"kinds\": [{\"kind\": \"spin\"}]}",
                              i ? ", " : "", i);
    n += (size_t)snprintf(text + n, size - n, "]}");
    assert_true(n < size);
}

static size_t bytes_in_use(void) {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

static int64_t number(const json_t *launch, const char *key) {
    return json_integer_value(json_object_get(launch, key));
}

static int has_host(const json_t *array, const char *host) {
    size_t i;
    const json_t *each;
    json_array_foreach(array, i, each) if (strcmp(json_string_value(json_object_get(each, "host")), host) ==
                                           0) return 1;
    return 0;
}

/* Node `i`: every hundredth missed a dose. */
static void end_of_node(struct nd_node_end *end, int i) {
    snprintf(end->host, sizeof end->host, "n%05d", i);
    write_certificate(end->certificate, sizeof end->certificate, end->host);
    end->has_generator = 1;
    for (int level = 0; level < 3; level++)
        end->levels[level] = (struct nd_level_sum){.n_halves = 10,
                                                   .wall_ns = 100000000,
                                                   .requested_ns = 1000000,
                                                   .n_cpus = 1,
                                                   .bursts_planned = 10,
                                                   .bursts_run = 10,
                                                   .delivered_ns = i % 100 == 0 ? 500000 : 1000000};
}

TEST(of_ten_thousand_generators_those_are_kept_that_missed_a_dose) {
    static struct nd_node_end end; /* large */
    json_auto_t *launch = json_pack("{s:[], s:[]}", "generators", "warnings");
    json_t *kept = json_object_get(launch, "generators");
    size_t before = bytes_in_use();
    for (int i = 0; i < N_NODES; i++) {
        end_of_node(&end, i);
        nd_launch_json_generator(launch, options(), &end);
    }
    assert_true(bytes_in_use() - before < MOST_BYTES);
    /* the first 256, and of the others the hundredths: 300, 400, ... */
    assert_int_equal(json_array_size(kept), ND_FULL_CERTIFICATES + 97);
    assert_int_equal(number(launch, "certificates_left_out"), N_NODES - ND_FULL_CERTIFICATES - 97);
    assert_true(has_host(kept, "n00001") && has_host(kept, "n09900"));
    assert_false(has_host(kept, "n09901"));
    assert_int_equal(json_array_size(json_object_get(json_array_get(kept, 0), "threads")), 64);
    assert_null(json_object_get(json_array_get(kept, ND_FULL_CERTIFICATES), "threads"));
    /* one for each of the hundred */
    assert_int_equal(json_array_size(json_object_get(launch, "warnings")), 100);
}

TEST(where_all_agents_say_something_the_first_are_kept_and_the_others_counted) {
    static struct nd_agent_end end; /* large */
    json_auto_t *launch = json_pack("{s:[], s:[]}", "agents", "warnings");
    size_t before = bytes_in_use();
    for (int i = 0; i < N_NODES; i++) {
        end.has_agent = 1;
        snprintf(end.host, sizeof end.host, "n%05d", i);
        snprintf(end.certificate, sizeof end.certificate,
                 "{\"host\": \"%s\", \"warnings\": [\"the agent ended by itself\"], \"accounts\": [1, 2, 3]}",
                 end.host);
        nd_launch_json_agent(launch, &end);
    }
    assert_true(bytes_in_use() - before < MOST_BYTES);
    assert_int_equal(json_array_size(json_object_get(launch, "agents")), ND_MOST_CERTIFICATES);
    assert_int_equal(number(launch, "certificates_left_out"), N_NODES - ND_MOST_CERTIFICATES);
    assert_int_equal(json_array_size(json_object_get(launch, "warnings")), ND_MOST_WARNINGS);
    assert_int_equal(number(launch, "warnings_left_out"), N_NODES - ND_MOST_WARNINGS);
}
