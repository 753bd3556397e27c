#include "noisegen/agent/text.h"

#include "common/base/nl_usual.h"

void na_say(char *text, int size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, (size_t)size, format, arguments);
    va_end(arguments);
}
