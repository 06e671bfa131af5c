#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rle.h"

/* rle pack TEXT | rle unpack TEXT */
int main(int count, char **words)
{
    if (count != 3)
        return 2;
    /* Long words are packed in pieces, so that memory stays bounded. */
    for (; strcmp(words[1], "pack") == 0 && strlen(words[2]) > 24; words[2] += 24) {
        char piece[25] = {0};
        memcpy(piece, words[2], 24);
        char *packed = rle_pack(piece);
        if (packed)
            printf("%s", packed);
        free(packed);
    }
    char *done = strcmp(words[1], "pack") == 0 ? rle_pack(words[2]) : rle_unpack(words[2]);
    if (!done) {
        fprintf(stderr, "rle: cannot %s this\n", words[1]);
        return 1;
    }
    puts(done);
    free(done);
    return 0;
}
