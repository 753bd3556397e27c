#include "detector/record/launch_files.h"

#include "common/sys/nl_launch.h"

static int make_folder(const char *path) {
    char part[PATH_MAX];
    snprintf(part, sizeof part, "%s", path);
    for (char *p = part + 1; *p; p++) {
        if (*p != '/') continue;
        *p = '\0';
        if (mkdir(part, 0777) && errno != EEXIST) return -1;
        *p = '/';
    }
    return mkdir(part, 0777) && errno != EEXIST ? -1 : 0;
}

int nd_files_open(struct nd_files *f, const char *out, const char *launch_id) {
    nl_launch_id(launch_id, f->launch, sizeof f->launch);
    if (strlen(out) + strlen(f->launch) >= PATH_MAX - 300) return nl_error("--out: the path is too long");
    snprintf(f->folder, sizeof f->folder, "%s/%s", out, f->launch);
    if (make_folder(out)) return nl_error("--out: cannot make '%s': %s", out, strerror(errno));
    /* not make_folder: a launch never writes over another one */
    return mkdir(f->folder, 0777) ? nl_error("--launch-id: cannot make '%s': %s", f->folder, strerror(errno))
                                  : 0;
}

int nd_files_fail(struct nd_files *f, const char *name, const char *why) {
    if (!f->is_hushed)
        nl_error("--out: cannot write '%s/%s': %s%s", f->folder, name, why,
                 f->n_rows > 0 ? "; what was taken before it is kept" : "");
    f->has_failed = f->is_hushed = 1;
    return -1;
}

FILE *nd_files_make(struct nd_files *f, const char *name, const char *mode) {
    char path[NL_WHOLE_BYTES];
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    FILE *file = fopen(path, mode);
    if (!file) nd_files_fail(f, name, strerror(errno));
    return file;
}

int nd_files_flush(struct nd_files *f, FILE *file, const char *name) {
    struct stat st;
    if (fflush(file) || ferror(file)) return nd_files_fail(f, name, strerror(errno));
    /* a file without a name takes rows as before, and nobody will ever read them */
    if (fstat(fileno(file), &st) || st.st_nlink > 0) return 0;
    return nd_files_fail(f, name, "the file was removed while the launch ran");
}

int nd_files_begin(struct nd_files *f, const char *name) {
    char path[NL_WHOLE_BYTES];
    snprintf(path, sizeof path, "%s/%s", f->folder, name);
    return nl_whole_open(&f->whole, path, 0666) ? nd_files_fail(f, name, strerror(errno)) : 0;
}

int nd_files_end(struct nd_files *f, const char *name, int is_bad) {
    if (!f->whole.f) return -1;
    return nl_whole_close(&f->whole, is_bad) ? nd_files_fail(f, name, strerror(errno)) : 0;
}

int nd_files_launch_json(struct nd_files *f, json_t *json) {
    char path[NL_WHOLE_BYTES];
    snprintf(path, sizeof path, "%s/launch.json", f->folder);
    return nl_launch_write(path, json) ? nd_files_fail(f, "launch.json", strerror(errno)) : 0;
}
