/* Settings of the operating system that matter for noise: the rows of settings.table, and what they are here.
 * Nothing is written. */
#pragma once

#include "common/base/nl_usual.h"

enum nc_setting_kind { NC_SYSCTL, NC_FILE, NC_BOOT, NC_TASK };

struct nc_setting {
    const char *name;
    enum nc_setting_kind kind;
    const char *path;      /* of NC_FILE, may be a pattern; NULL */
    const char *does;      /* what it does to noise, a sentence */
    const char *permanent; /* how it is made permanent; NULL: by its kind */
    const char *settling; /* ms, or "FILE MS": a file that says it, and what holds without it; NULL: it cannot
                             be switched */
};
extern const struct nc_setting nc_settings[]; /* ends with a row without name */

enum { NC_SETTING_BYTES = 256 };

struct nc_setting_found {
    int is_here;      /* 0: this kernel has it not */
    int is_permitted; /* whether this user may write it, by the rights of its file; the kernel may refuse a
                         value still */
    char here[NC_SETTING_BYTES]; /* the value; several that differ are divided by commas; "" where it is not
                                    here */
    char source[PATH_MAX];       /* where it was read */
    const char *why_not;         /* it may not be changed; NULL */
    char permanent[NC_SETTING_BYTES]; /* how it is made permanent */
};

/* How long after a write the system may still behave as before it, ms; -1: it cannot be switched. */
int64_t nc_setting_settling_ms(const char *root, const struct nc_setting *setting);

/* What a setting is below `root` ("": this machine). */
void nc_setting_look(const char *root, const struct nc_setting *setting, struct nc_setting_found *found);
