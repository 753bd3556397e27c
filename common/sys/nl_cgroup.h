/* Where a process's cgroups are, of version 1 and 2. `root` is a folder in place of "/", as tests have it; "" otherwise. */
#ifndef NL_CGROUP_H
#define NL_CGROUP_H

#include "common/base/nl_usual.h"

/* A process's cgroup in a hierarchy, as the path under the hierarchy's root.
 * @param controller  of version 1 ("freezer", "cpuacct"); "": version 2.
 * @return 0, -1 when there is none. */
int nl_cgroup_of(const char *root, pid_t pid, const char *controller, char *path, int size);

/* Where a hierarchy is mounted. 0, -1. */
int nl_cgroup_mount(const char *root, const char *controller, char *path, int size);

/* The folder of a process's own cgroup, and of those above it as far as they can be seen: `visit` is called with each, from its own one up
 * to where the hierarchy is mounted, which in a container is the container's own one. `path` is valid during the call; `depth` counts from
 * 0, the own one.
 * @return 0, -1 when there is none. */
int nl_cgroup_each_up(const char *root, pid_t pid, const char *controller, void (*visit)(void *context, const char *path, int depth),
                      void *context);

#endif
