/* Settings of the operating system: what is found stands in the journal before anything is written, each
 * value is read back, and the arm off has the references. The placebo writes the references again. */
#include "noisegen/agent/agent.h"

static int check(struct na_agent *a, char *reason, int size) {
    if (na_settings_look(a->options->settings, a->undo, reason, size)) return -1;
    nl_say(a->state_found, sizeof a->state_found, "as it was found");
    a->is_on = -1; /* the reference need not be what was found */
    return 0;
}

/* Whether each value takes is seen before anything is measured: all are written once, the references last. */
static int place(struct na_agent *a, char *reason, int size) {
    const struct na_settings *all = a->options->settings;
    static const int references[NA_SETTINGS];
    if (!a->undo->journal_file[0])
        return nl_say(
            reason, size,
            "what is found cannot be written down before it is changed: there is no folder for the journal "
            "(XDG_RUNTIME_DIR is to be one that only its owner can write)");
    /* again: what was found when the companion began may have been changed meanwhile */
    if (na_settings_look(all, a->undo, reason, size)) return -1;
    atomic_store(&a->undo->must_reset, 1);
    if (na_journal_note(a->undo))
        return nl_say(reason, size, "the journal %s cannot be written: %s", a->undo->journal_file,
                      strerror(errno));
    for (int i = 0; i < all->n_arms; i++)
        if (na_settings_write(all, all->arms[i].at, a->undo, reason, size)) return -1;
    if (na_settings_write(all, references, a->undo, reason, size)) return -1;
    a->is_on = 0;
    return 0;
}

static int on(struct na_agent *a, char *reason, int size) {
    if (!a->arm) return nl_say(reason, size, "the arm is not one of the settings'");
    return na_settings_write(a->options->settings, a->arm->at, a->undo, reason, size);
}

static int off(struct na_agent *a, char *reason, int size) {
    static const int references[NA_SETTINGS];
    return na_settings_write(a->options->settings, references, a->undo, reason, size);
}

const struct na_way na_way_setting = {
    .name = "setting",
    .option = "setting",
    .help = "settings of the operating system, each value an arm; left as they were found",
    .has_arms = 1,
    .check = check,
    .place = place,
    .on = on,
    .off = off};
