/* What jansson leaves to its users. */
#pragma once

#include <jansson.h>

/* Text that jansson takes, whatever bytes the user typed; null of NULL. */
json_t *nl_json_text(const char *s);

/* Sets keys of an object: name, value (taken over), ..., NULL. Returns 0, or -1 where one could not be set.
 */
int nl_json_set(json_t *object, ...) __attribute__((sentinel));

/* An array of n values: those of an expression in which `i` is the number; a value that is NULL is left out.
 */
#define NL_JSON_LIST(i, n, value)                                                                            \
    ({                                                                                                       \
        json_t *list_ = json_array();                                                                        \
        for (int i = 0; i < (n); i++)                                                                        \
            json_array_append_new(list_, value);                                                             \
        list_;                                                                                               \
    })
