/* Presets: small text files NAME.preset of `option = value` lines (long option names without their dashes), with `#` comments; the first
 * comment says what it is. They lie in the folder that the environment's NOISELAB_PRESETS names, otherwise in share/noiselab/presets
 * beside the folder of the program. */
#pragma once

#include "common/base/nl_usual.h"

/* Where the presets lie, into `buf` (PATH_MAX bytes); returns buf. */
const char *nl_preset_folder(char *buf);

/* Hands the lines of a preset to `take`, one after the other.
 * @param name  plain name, as in --preset: no path.
 * @param take  gets option, value and where they stand ("FILE:LINE"); a value of the option `replay` is already the path of the trace.
 *              Strings live only during the call. Returns 0, or -1 when it has said what is wrong.
 * @param reason  receives one line without its end when the file cannot be read or has a line of another form; "" when `take` refused.
 * @return 0, -1. */
int nl_preset_read(const char *name, int (*take)(void *context, const char *option, const char *value, const char *where), void *context,
                   char *reason, size_t reason_size);

/* Hands all presets to `show`, by name, with the first comment of each. 0, -1 when the folder cannot be read (reason as above). */
int nl_preset_list(void (*show)(const char *name, const char *description), char *reason, size_t reason_size);
