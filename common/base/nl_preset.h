/* Presets: text files NAME.preset of `option = value` lines (long option names without their dashes), with
 * `#` comments; the first says what it is. They lie in NOISELAB_PRESETS, otherwise in share/noiselab/presets
 * beside the folder of the program. */
#pragma once

#include "common/base/nl_usual.h"

/* Where the presets lie, into `buf` (PATH_MAX bytes); returns buf. */
const char *nl_preset_folder(char *buf);

/* Hands the lines of a preset to `take`, with where they stand ("FILE:LINE"); a value of the option `replay`
 * is already the path of the trace. `take` returns 0, or -1 when it has said what is wrong. 0, -1 with a line
 * in `reason`, "" when `take` refused. */
int nl_preset_read(const char *name,
                   int (*take)(void *context, const char *option, const char *value, const char *where),
                   void *context, char *reason, size_t reason_size);

/* Hands all presets to `show`, by name, with the first comment of each. 0, -1 when the folder cannot be read
 * (reason as above). */
int nl_preset_list(void (*show)(const char *name, const char *description), char *reason, size_t reason_size);
