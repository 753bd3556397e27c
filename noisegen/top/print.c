/* Lines for people, and JSON. */
#include "noisegen/top/print.h"
#include "common/base/nl_json.h"
#include "common/base/nl_units.h"
#include "common/base/version.h"
#include "noisegen/top/fields.h"

enum { BATCH_COLUMNS = 130, MOST_PERCENT = 1000 /* the analysis says the same words */ };

/* "1,000" */
static const char *with_commas(int64_t n, char *text, size_t size) {
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%" PRId64, n);
    size_t at = 0;
    for (int i = 0; i < length && at + 2 < size; i++) {
        if (i > 0 && (length - i) % 3 == 0) text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = '\0';
    return text;
}

static const struct nt_field *field_of(const struct nt_field *fields, const char *key) {
    while (fields->key && strcmp(fields->key, key) != 0) fields++;
    return fields;
}

/* The slowdown with its interval: "12.3 % slower (10.1 to 15.2 %" */
static void say_slower(const struct nt_scale *scale, char *text, size_t size) {
    char value[32], low[32], high[32];
    nt_format(field_of(nt_scale_fields, "slowdown_percent"), scale, value, sizeof value);
    nt_format(field_of(nt_scale_fields, "low_percent"), scale, low, sizeof low);
    nt_format(field_of(nt_scale_fields, "high_percent"), scale, high, sizeof high);
    int n = scale->slowdown_percent >= MOST_PERCENT
                ? snprintf(text, size, "more than ten times as long")
                : snprintf(text, size, "%s %% slower", value);
    text += n, size -= (size_t)n;
    if (scale->low_percent >= MOST_PERCENT) snprintf(text, size, " (");
    else if (scale->high_percent < 0 || scale->high_percent >= MOST_PERCENT)
        snprintf(text, size, " (at least %s %%, ", low);
    else snprintf(text, size, " (%s to %s %%, ", low, high);
}

static void say_scale(const struct nt_sample *s, char *line) {
    char nodes[32], every[32], span[32] = "minute", slower[128];
    with_commas(s->scale.n_nodes, nodes, sizeof nodes);
    nl_format_duration(s->scale.every_ns, every, sizeof every);
    int n =
        snprintf(line, NT_HEAD_BYTES, "nodes like this, %s of them, synchronising every %s: ", nodes, every);
    size_t left = (size_t)(NT_HEAD_BYTES - n);
    if (s->scale.slowdown_percent < 0) {
        snprintf(line + n, left, "%s",
                 s->scale.span_ns > 0 ? "known after 1 s" : "not known without single interruptions");
        return;
    }
    say_slower(&s->scale, slower, sizeof slower);
    if (s->scale.span_ns <= INT64_C(59000000000))
        snprintf(span, sizeof span, "%.0f s", (double)s->scale.span_ns / 1e9);
    snprintf(line + n, left, "%sfrom the last %s)", slower, span);
}

int nt_heads(const struct nt_sample *s, char heads[NT_HEADS][NT_HEAD_BYTES]) {
    char interval[32], clock[16], own[32], longest[32], wakeups[32], host[65] = "", lost[32];
    struct tm tm;
    int n = 0;
    gethostname(host, sizeof host - 1);
    localtime_r(&s->at.tv_sec, &tm);
    strftime(clock, sizeof clock, "%H:%M:%S", &tm);
    nl_format_duration((s->interval_ns + 50000000) / 100000000 * 100000000, interval, sizeof interval);
    nt_format(field_of(nt_cpu_fields, "lost_percent"), &(struct nt_cpu){.lost_percent = s->lost_percent},
              lost, sizeof lost);
    snprintf(heads[n++], NT_HEAD_BYTES, "noiselab top  %s  %s  last %s  CPUs lose %s %%  source %s", clock,
             host, interval, lost, s->source);
    say_scale(s, heads[n++]);
    snprintf(heads[n++], NT_HEAD_BYTES, "%s", s->program);
    nt_format(field_of(nt_own_fields, "cpu_percent"), &s->own, own, sizeof own);
    nt_format(field_of(nt_own_fields, "longest_ns"), &s->own, longest, sizeof longest);
    nt_format(field_of(nt_own_fields, "wakeups_per_second"), &s->own, wakeups, sizeof wakeups);
    snprintf(heads[n++], NT_HEAD_BYTES, "noiselab top itself: %s %% of a CPU, longest burst %s, %s bursts/s",
             own, longest, wakeups);
    if (s->hidden[0]) snprintf(heads[n++], NT_HEAD_BYTES, "%s", s->hidden);
    if (s->n_lost > 0)
        snprintf(heads[n++], NT_HEAD_BYTES,
                 "%" PRId64 " records of switches were lost so far: shares are too low", s->n_lost);
    return n;
}

/* Adds a cell of a table: at most `most` bytes of a text, to the left (width below 0) or right of its width.
 * Returns the length of the line then; what does not fit is left out. */
static size_t put_cell(char *line, size_t at, size_t size, const char *text, int width, size_t most) {
    size_t n = strnlen(text, most), cell = (size_t)abs(width), n_blanks = cell > n ? cell - n : 0;
    if (at + n + n_blanks + 1 >= size) return at;
    char *text_at = line + at + (width > 0 ? n_blanks : 0), *blanks_at = line + at + (width > 0 ? 0 : n);
    memcpy(text_at, text, n);
    memset(blanks_at, ' ', n_blanks);
    return at + n + n_blanks;
}

void nt_line(const struct nt_field *fields, const void *row, int columns, char *line, size_t size) {
    size_t at = 0;
    int spare = columns, unit_width = 0;
    const struct nt_field *last = fields;
    for (const struct nt_field *f = fields; f->key; f++)
        if (f->title && columns >= f->from_columns) spare -= abs(f->width) + 1, last = f;
    line[0] = '\0';
    for (const struct nt_field *f = fields; f->key; f++) {
        char text[128];
        if (!f->title || columns < f->from_columns) continue;
        /* the one text that wants room gets what is left over, but for what the last column may take */
        unit_width = strcmp(f->key, "unit") == 0 && spare > 8 ? spare - 8 < 40 ? spare - 8 : 40 : 0;
        int width = f->width < 0 ? f->width - unit_width : f->width, is_last = f == last;
        const char *words = row ? nt_format(f, row, text, sizeof text) : f->title;
        at = put_cell(line, at, size, words, is_last ? 0 : width,
                      width < 0 && !is_last ? (size_t)-width : sizeof text);
        if (!is_last && at + 1 < size) line[at++] = ' ';
    }
    line[at] = '\0';
    if (columns > 0 && (size_t)columns < size) line[columns] = '\0';
    while (at > 0 && line[at - 1] == ' ') line[--at] = '\0';
}

static void put_line(FILE *file, const char *line) {
    fputs(line, file);
    fputc('\n', file);
}

static void put_lines(FILE *file, const struct nt_sample *s, struct nt_watch *watch) {
    char heads[NT_HEADS][NT_HEAD_BYTES], line[512];
    int n = nt_heads(s, heads);
    for (int i = 0; i < n; i++) put_line(file, heads[i]);
    nt_line(nt_cpu_fields, NULL, BATCH_COLUMNS, line, sizeof line);
    fputc('\n', file);
    put_line(file, line);
    for (int i = 0; i < s->n_cpus; i++) {
        nt_line(nt_cpu_fields, &s->cpus[i], BATCH_COLUMNS, line, sizeof line);
        nt_breathe(watch);
        put_line(file, line);
    }
    nt_line(nt_task_fields, NULL, BATCH_COLUMNS, line, sizeof line);
    fputc('\n', file);
    put_line(file, line);
    for (int i = 0; i < s->n_tasks; i++) {
        nt_line(nt_task_fields, &s->tasks[i], BATCH_COLUMNS, line, sizeof line);
        nt_breathe(watch);
        put_line(file, line);
    }
    if (s->n_others > 0)
        fprintf(file, "and %d more tasks, %.3g %% of a CPU together\n", s->n_others, s->others_percent);
    fprintf(file, "\n");
}

/* The whole text, or errno says why not: a stream that has failed somewhere does not know it any more. */
static int write_text(FILE *file, const char *text, size_t n) {
    return fwrite(text, 1, n, file) == n && fflush(file) == 0 ? 0 : -1;
}

int nt_print_batch(FILE *file, const struct nt_sample *s, struct nt_watch *watch) {
    char *text = NULL;
    size_t n = 0;
    FILE *memory = open_memstream(&text, &n);
    if (!memory) return -1;
    put_lines(memory, s, watch);
    nt_breathe(watch);
    int failed = fclose(memory) != 0 || write_text(file, text, n), error = errno;
    free(text);
    errno = error;
    return failed ? -1 : 0;
}

/* ---- JSON ---- */

#define DUMP_NS 200000 /* what its text takes about */

static json_t *as_json(const struct nt_field *fields, const void *row) {
    json_t *object = json_object();
    for (const struct nt_field *f = fields; f->key; f++) {
        const char *at = (const char *)row + f->at;
        double number =
            f->unit == NT_PERCENT || f->unit == NT_PER_SECOND ? *(const double *)(const void *)at : 0;
        int64_t whole = f->unit == NT_NS || f->unit == NT_NUMBER ? *(const int64_t *)(const void *)at
                        : f->unit == NT_INT                      ? *(const int *)(const void *)at
                                                                 : 0;
        /* what is not seen is null, and a period that is not there is, too */
        int is_null = number < 0 || whole < 0 || (f->unit == NT_TEXT && !*at) ||
                      (whole == 0 && strcmp(f->key, "period_ns") == 0);
        nl_json_set(object, f->key,
                    is_null                                             ? json_null()
                    : f->unit == NT_TEXT                                ? nl_json_text(at)
                    : f->unit == NT_PERCENT || f->unit == NT_PER_SECOND ? json_real(number)
                                                                        : json_integer(whole),
                    NULL);
    }
    return object;
}

int nt_print_json(FILE *file, const struct nt_sample *s, struct nt_watch *watch) {
    char at[40];
    struct tm tm;
    gmtime_r(&s->at.tv_sec, &tm);
    size_t n = strftime(at, sizeof at, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(at + n, sizeof at - n, ".%03dZ", (int)(s->at.tv_nsec / 1000000));
    json_t *json = json_object();
    nl_json_set(json, "schema", json_integer(1), "program", json_string("noiselab-top"), "version",
                json_string(NOISELAB_VERSION), "at", json_string(at), "interval_ns",
                json_integer(s->interval_ns), "source", json_string(s->source), "lost_percent",
                json_real(s->lost_percent), "unaccounted_percent", json_real(s->unaccounted_percent),
                "lost_records", json_integer(s->n_lost), "ranks", nl_json_text(s->program), "hidden",
                s->hidden[0] ? nl_json_text(s->hidden) : json_null(), "scale",
                as_json(nt_scale_fields, &s->scale), "own", as_json(nt_own_fields, &s->own), "cpus",
                NL_JSON_LIST(i, s->n_cpus, as_json(nt_cpu_fields, &s->cpus[i])), "tasks",
                NL_JSON_LIST(i, s->n_tasks, (nt_breathe(watch), as_json(nt_task_fields, &s->tasks[i]))),
                "other_tasks", json_integer(s->n_others), "other_tasks_percent",
                json_real(s->others_percent), NULL);
    nt_breathe_before(watch, DUMP_NS);
    char *text = json_dumps(json, JSON_COMPACT | JSON_PRESERVE_ORDER);
    json_decref(json);
    if (!text) return errno = ENOMEM, -1;
    size_t length = strlen(text);
    text[length] = '\n'; /* in place of its end */
    int failed = write_text(file, text, length + 1), error = errno;
    free(text);
    errno = error;
    return failed;
}
