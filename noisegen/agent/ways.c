#include "noisegen/agent/agent.h"

const struct na_way *const na_ways[] = {&na_way_command, &na_way_pid, &na_way_cgroup, &na_way_unit, &na_way_switch, &na_way_scrape, NULL};
