/* Processes of a launch that a script has started: they end with the script, and a script can wait for them all. */
#ifndef NC_LAUNCHED_H
#define NC_LAUNCHED_H

#include "common/base/nl_usual.h"

/* what its processes have in their environment, whatever started them */
#define NC_LAUNCH_VARIABLE "NOISELAB_LAUNCH"

/* Becomes the command (words, the last one NULL), which gets a TERM when the process that started it dies, however that dies. So do its
 * ranks on this host, at once, not when the launcher comes to it. It is a process group of its own: a Ctrl-C reaches the script, which says
 * what is to end, once.
 * @param owner   the script: where it is gone by now nothing is started.
 * @param launch  for end(); "-": none.
 * @return only on failure, a status. */
int nc_launched_become(pid_t owner, const char *launch, char **command);

/* Waits until nothing of the launch runs on this host; ranks, and `launcher`, that stay are told to end, and then killed. The load and the
 * agent's companion are only waited for: they give back what they hold. Returns after some twenty seconds whatever stays.
 * @param launcher  0: none.
 * @return a status: 0 nothing is left, 1 something is, and is named on stderr. */
int nc_launched_end(const char *launch, pid_t launcher);

#endif
