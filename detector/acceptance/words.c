#include "detector/acceptance/words.h"

void nx_words_fill(void *array, int bytes, uint32_t first) {
    uint32_t *words = array;
    for (int i = 0; i < bytes / 4; i++) words[i] = first + (uint32_t)i;
}

int64_t nx_words_check(const void *array, int bytes, int64_t from, uint32_t first, struct nx_wrong_word *wrong) {
    const uint32_t *words = array;
    for (int64_t i = from / 4; i < bytes / 4; i++) {
        uint32_t expected = first + (uint32_t)i;
        if (__builtin_expect(words[i] == expected, 1)) continue;
        unsigned char is[4], should[4];
        int k = 0;
        memcpy(is, &words[i], 4);
        memcpy(should, &expected, 4);
        while (is[k] == should[k]) k++;
        *wrong = (struct nx_wrong_word){4 * i + k, expected, words[i]};
        return 4 * (i + 1);
    }
    return -1;
}
