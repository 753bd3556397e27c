/* A generator under a detector: commands from the control page (common/page/nl_control.h), a certificate of every level at the end. */
#ifndef NG_CONTROL_H
#define NG_CONTROL_H

#include "noisegen/gen_options.h"

/* Obeys the page behind options->control_fd until QUIT.
 * @return an exit status (enum nl_exit). */
int ng_controlled(const struct ng_options *options);

#endif
