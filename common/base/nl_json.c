#include "common/base/nl_json.h"

json_t *nl_json_text(const char *s) {
    json_t *json = s ? json_string(s) : json_null();
    return json ? json : json_string("(not UTF-8)");
}

int nl_json_set(json_t *object, ...) {
    va_list arguments;
    int failed = 0;
    va_start(arguments, object);
    for (const char *key; (key = va_arg(arguments, const char *));)
        failed |= json_object_set_new(object, key, va_arg(arguments, json_t *));
    va_end(arguments);
    return failed;
}
