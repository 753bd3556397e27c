/* Memory that is free for this process. */
#pragma once

#include "common/sys/nl_stat.h"

/* Bytes that can still be had, on the machine and within the cgroups (versions 1 and 2) of this process; -1
 * when unknown. Local. */
int64_t nl_memory_available(void);
