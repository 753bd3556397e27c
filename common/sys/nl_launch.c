#include "common/sys/nl_launch.h"

#include "common/base/nl_options.h"
#include "common/base/nl_secret.h"
#include "common/sys/nl_whole.h"

void nl_launch_id(const char *asked, char *id, size_t size) {
    char host[64] = "host", stamp[32];
    time_t now = time(NULL);
    struct tm utc;
    if (asked) {
        snprintf(id, size, "%s", asked);
        return;
    }
    gethostname(host, sizeof host - 1);
    strftime(stamp, sizeof stamp, "%Y%m%dT%H%M%SZ", gmtime_r(&now, &utc));
    snprintf(id, size, "%s-%.63s-%ld", stamp, host, (long)getpid());
    nl_make_plain(id);
}

int nl_launch_write(const char *path, json_t *json) {
    struct nl_whole whole;
    if (nl_whole_open(&whole, path, 0666)) return -1;
    nl_secret_redact_json(json);
    /* without memory it is cut short */
    int is_bad = json_dumpf(json, whole.f, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(12));
    fputc('\n', whole.f);
    return nl_whole_close(&whole, is_bad);
}
