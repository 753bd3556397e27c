/* Printers of samples. */
#pragma once

#include "noisegen/top/top.h"

/* The lines above the tables, for people, each without its end: what this is, the projection, what is hidden,
 * itself. At most NT_HEADS; their number. */
enum { NT_HEADS = 6, NT_HEAD_BYTES = 450 };
int nt_heads(const struct nt_sample *sample, char heads[NT_HEADS][NT_HEAD_BYTES]);

/* One row of a table as wide as `columns` allows, without its end; row NULL: its titles. */
void nt_line(const struct nt_field *fields, const void *row, int columns, char *line, size_t size);

/* Lines; one line of JSON. The watch breathes meanwhile. @return 0, -1 with errno. */
int nt_print_batch(FILE *file, const struct nt_sample *sample, struct nt_watch *watch);
int nt_print_json(FILE *file, const struct nt_sample *sample, struct nt_watch *watch);

/* ---- the full screen ---- */

enum nt_screen_wish { NT_NO_WISH, NT_QUIT, NT_NEXT_SORT, NT_OTHER_CPUS };

struct nt_screen;

/* Whether this program was built with ncurses. */
extern const int nt_has_screen;
