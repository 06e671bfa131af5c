#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "rle.h"

static int gives(char *got, const char *wanted)
{
    int same = got && strcmp(got, wanted) == 0;
    free(got);
    return same;
}

int main(void)
{
    check(gives(rle_pack(""), ""), "pack nothing");
    check(gives(rle_pack("abc"), "1a1b1c"), "pack single letters");
    check(gives(rle_pack("aaab"), "3a1b"), "pack a run");
    check(gives(rle_pack("zzzzzzzzzzzz"), "9z3z"), "pack a long run");
    check(rle_pack("a1") == NULL, "pack letters only");
    check(gives(rle_unpack("3a1b"), "aaab"), "unpack a run");
    check(gives(rle_unpack("9z3z"), "zzzzzzzzzzzz"), "unpack a long run");
    check(rle_unpack("a") == NULL, "unpack needs a number");
    return failed > 0;
}
