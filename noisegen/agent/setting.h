/* Settings of the operating system that are switched as an agent is: the words of --setting, the arms that
 * they make, and what is found and written on this node. The first value of each is the reference, which the
 * arm off has. */
#pragma once

#include "noisegen/agent/undo.h"

enum { NA_SETTINGS = 8, NA_SETTING_VALUES = 8, NA_SETTING_ARMS = 60, NA_ARM_NAME_BYTES = 33 };

enum na_setting_kind {
    NA_SETTING_FILES,  /* all files that a pattern finds: a sysctl, a file of /sys */
    NA_SETTING_IRQ,    /* the CPUs that serve interrupts of this name */
    NA_SETTING_CONFINE /* the CPUs that tasks of this name may use; the first value is as they were found */
};

struct na_setting {
    enum na_setting_kind kind;
    char key[NA_UNDO_PATH_BYTES]; /* as given, before the = */
    const char *target;           /* in key: pattern, name of an interrupt, pattern of names of tasks */
    int n_values;
    char values[NA_SETTING_VALUES][NA_UNDO_VALUE_BYTES];
};

struct na_setting_arm {
    char name[NA_ARM_NAME_BYTES];
    int at[NA_SETTINGS]; /* of each setting, which value */
};

struct na_settings {
    int n, n_arms;
    struct na_setting settings[NA_SETTINGS];
    const char *texts[NA_SETTINGS];              /* as given */
    struct na_setting_arm arms[NA_SETTING_ARMS]; /* all combinations but that of references alone, and last
                                                  * the placebo, which writes the references again */
};

#define NA_PLACEBO "placebo"

/* Takes one --setting: "NAME=VALUE,VALUE". 0, -1 with what is wrong in `reason`. */
int na_settings_add(struct na_settings *s, const char *text, char *reason, int size);

/* Makes the arms of what was added. 0, -1 with a reason. */
int na_settings_cross(struct na_settings *s, char *reason, int size);

/* The arm of this name; NULL. */
const struct na_setting_arm *na_settings_find(const struct na_settings *s, const char *name);

/* ---- on this node ---- */

/* Notes in `undo` what all of them are, and refuses what is not here or may not be written. Writes nothing.
 * `ranks`: PIDs that confine leaves alone. 0, -1 with a reason. */
int na_settings_look(const struct na_settings *s, struct na_undo *undo, char *reason, int size);

/* Writes the values of these indices, and reads each back. What was noted stays noted. 0, -1 with a reason
 * that names the file. */
int na_settings_write(const struct na_settings *s, const int *at, struct na_undo *undo, char *reason,
                      int size);

/* "KEY=VALUE" of each file as it was found and as it is now, for a certificate; NULL at the end. `i`: from 0.
 */
int na_settings_tell(const struct na_undo *undo, int i, const char **path, const char **found, char *now,
                     int size);
