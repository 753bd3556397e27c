/* Which words of a command line are secret, and what becomes of them. */
#include "common/base/nl_secret.h"
#include "tests/unit/unit.h"

static void expect(const char *text, const char *before, const char *wanted) {
    char out[512];
    int is_replaced = nl_secret_redact(text, before, out, sizeof out);
    assert_string_equal(out, wanted);
    assert_true(is_replaced == (strcmp(text, wanted) != 0));
}

TEST(secrets_are_replaced) {
    static const char *const cases[][2] = {
        {"curl -u user:pw http://h:90/m", "curl -u *** http://h:90/m"},
        {"curl -uuser:pw http://h", "curl -u*** http://h"},
        {"curl --user 'a b:c d' http://h", "curl --user '***' http://h"},
        {"curl --user=a:b http://h", "curl --user=*** http://h"},
        {"curl --proxy-user a:b", "curl --proxy-user ***"},
        {"wget http://user:pw@host/x", "wget http://***@host/x"},
        {"wget https://user:p/w#1@host/x", "wget https://***@host/x"},
        {"agent --password=abc --port=9", "agent --password=*** --port=9"},
        {"agent --password abc --port 9", "agent --password *** --port 9"},
        {"agent --db-passwd \"a b\" x", "agent --db-passwd \"***\" x"},
        {"DB_PASS=abc agent -f", "DB_PASS=*** agent -f"},
        {"API_TOKEN='a b' agent", "API_TOKEN=*** agent"},
        {"agent --api-key=1234", "agent --api-key=***"},
        {"curl -H 'Authorization: Bearer abc' http://h", "curl -H 'Authorization: ***' http://h"},
        {"curl -H \"X-Auth-Token: abc\" http://h", "curl -H \"X-Auth-Token: ***\" http://h"},
        {"curl -H Authorization: Basic abc", "curl -H Authorization: ***"},
        {"noiselab run agent --scrape 'curl -u user:pw http://h' --seed 1",
         "noiselab run agent --scrape 'curl -u *** http://h' --seed 1"},
        {"noiselab run agent --scrape 'curl -H \"Authorization: a b\" http://h' --seed 1",
         "noiselab run agent --scrape 'curl -H \"Authorization: ***\" http://h' --seed 1"},
        {"curl http://h/metrics?format=x&token=abc -o x", "curl http://h/metrics?format=x&token=*** -o x"},
        {"curl -d user=a&password=b http://h", "curl -d user=a&password=*** http://h"},
        {"sh -c 'agent --password=abc' --name 'x y'", "sh -c 'agent --password=***' --name 'x y'"},
        {"agent --password=ab\"c d\" --port 9", "agent --password=*** --port 9"},
        {"agent --password ab'c d'e 9", "agent --password *** 9"},
        {"agent --password='ab'\"c d\" --port 9", "agent --password=*** --port 9"},
        /* one word, whatever is in it */
        {"--password=ab'cd\"e", "--password=***"},
        {"Authorization:abc'd", "Authorization:***"},
        {"--scrape-url=http://a:b'c@host", "--scrape-url=http://***@host"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(cases[i][0], NULL, cases[i][1]);
    expect("user:pw", "-u", "***");
    expect("abc", "--password", "***");
    expect("a b c", "--password", "***");
}

TEST(what_is_no_secret_stays) {
    static const char *const cases[] = {"collectd -f -C 'a b' --interval 1",
                                        "curl http://host:9100/metrics",
                                        "curl -u user http://host",
                                        "sleep 1",
                                        "--op=barrier,allreduce",
                                        "python agent.py --keys 3 --monkey=1",
                                        "noiselab-agent: --scrape: 'x' does not succeed: status 7",
                                        "a@b",
                                        "--bytes=2KiB",
                                        "",
                                        "it's",
                                        "ssh -p 22 host"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(cases[i], NULL, cases[i]);
    expect("22", "-p", "22");
}

TEST(a_buffer_too_small_is_not_overrun) {
    char out[8];
    memset(out, 'x', sizeof out);
    nl_secret_redact("curl --password=abc", NULL, out, 6);
    assert_true(strcmp(out, "curl ") == 0);
    assert_true(out[6] == 'x');
}

TEST(every_text_of_a_value_is_looked_at) {
    json_t *json = json_loads("{\"command\": [\"x\", \"--password\", \"abc\", \"-u\", \"a:b\"], \"o\": "
                              "{\"t\": \"http://a:b@h\"}, \"n\": 3}",
                              0, NULL);
    assert_true(nl_secret_redact_json(json) == 3);
    json_t *wanted = json_loads("{\"command\": [\"x\", \"--password\", \"***\", \"-u\", \"***\"], \"o\": "
                                "{\"t\": \"http://***@h\"}, \"n\": 3}",
                                0, NULL);
    assert_true(json_equal(json, wanted));
    json_decref(json);
    json_decref(wanted);
}

TEST(what_a_terminal_obeys_is_taken_out) {
    char text[] = "a\033]0;x\007b\177c\302\233d\303\251\ne";
    nl_secret_disarm(text);
    assert_true(strcmp(text, "a?]0;x?b?c??d\303\251 e") == 0);
}
