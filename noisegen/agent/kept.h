/* The note of what has to be undone, kept in a file. */
#pragma once

#include "noisegen/agent/undo.h"

/* Settings: writes back what was found, and reads it back; then the CPUs of tasks. 0, -1 with the first that
 * failed in `problem`. */
int na_undo_settings(struct na_undo *undo, char *problem, int problem_size);

/* A file's value: its first line or, where a word of it is in brackets, that word. 0, -1 with errno (EFBIG:
 * several lines, or too long). */
int na_value_read(const char *path, char *value, size_t size);

/* Writes a value, unless the file cannot be had, and reads it back. 0, -1 with a line in `reason`. */
int na_value_write(const char *path, const char *value, int is_cpu_list, char *reason, int size);

/* Confines all tasks of the pattern to these CPUs, noting (and, through the journal, on disk) where they
 * might run before. How many they are, -1 with a reason. */
int na_confine(struct na_undo *undo, const cpu_set_t *cpus, char *reason, int size);

/* Lets them, and what they have started since, run where they might. 0, -1 with errno. */
int na_confine_end(struct na_undo *undo);

/* A set of CPUs as it is in lists, "0-3+8" or "0-3,8". 0, -1. */
int na_cpus_parse(const char *text, cpu_set_t *cpus);
