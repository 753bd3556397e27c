/* A generator on its own: one plan, one certificate on stdout. */
#ifndef NG_ALONE_H
#define NG_ALONE_H

#include "noisegen/gen_options.h"

/* Runs the plan of the options and prints the certificate.
 * @return an exit status (enum nl_exit). */
int ng_alone(const struct ng_options *options);

#endif
