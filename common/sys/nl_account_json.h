/* An account of who ran on CPUs, as JSON. */
#pragma once

#include "common/sys/nl_account.h"

/* As files have it (docs/reference/formats.md, account); with `cpus`, by CPU (n_cpus as above), otherwise
 * NULL. New reference. */
struct json_t *nl_account_json(const struct nl_account_sum *sum, const struct nl_account_cpu *cpus,
                               int n_cpus);
