/* Short texts. */
#ifndef NA_TEXT_H
#define NA_TEXT_H

/* As snprintf; what does not fit is cut off: a reason is read by people. */
void na_say(char *text, int size, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
