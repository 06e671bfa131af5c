work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/runs.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rle.h"

static void need(int holds, const char *name, size_t length)
{
    if (!holds) {
        fprintf(stderr, "not so: %s, %lu\n", name, (unsigned long)length);
        exit(1);
    }
}

static char *run_of(size_t length, char letter)
{
    char *text = malloc(length + 1);
    memset(text, letter, length);
    text[length] = '\0';
    return text;
}

static void one_run(size_t length)
{
    char wanted[40];
    char *text = run_of(length, 'm'), *copy = run_of(length, 'm');
    snprintf(wanted, sizeof wanted, "%lum", (unsigned long)length);
    char *packed = rle_pack(text);
    need(packed && strcmp(packed, wanted) == 0, "packed", length);
    need(strcmp(text, copy) == 0, "the text is as it was", length);
    char *unpacked = rle_unpack(packed);
    need(unpacked && strlen(unpacked) == length && strcmp(unpacked, text) == 0, "unpacked", length);
    need(strcmp(packed, wanted) == 0, "the packed text is as it was", length);
    free(text);
    free(copy);
    free(packed);
    free(unpacked);
}

static void many_runs(unsigned seed)
{
    char text[40000], wanted[4000], *at = text, *end = wanted, letter = 'a';
    for (int run = 0; run < 200; run++) {
        seed = seed * 1103515245u + 12345u;
        size_t length = 1 + (seed >> 16) % (run % 3 ? 13 : 180);
        letter = "abYZ"[(strchr("abYZ", letter) - "abYZ" + 1 + (seed >> 8) % 3) % 4];
        memset(at, letter, length);
        at += length;
        end += sprintf(end, "%lu%c", (unsigned long)length, letter);
    }
    *at = '\0';
    char *packed = rle_pack(text), *unpacked = rle_unpack(wanted);
    need(packed && strcmp(packed, wanted) == 0, "many runs packed", seed);
    need(unpacked && strcmp(unpacked, text) == 0, "many runs unpacked", seed);
    free(packed);
    free(unpacked);
}

int main(void)
{
    for (size_t length = 1; length <= 1200; length++)
        one_run(length);
    for (size_t power = 10000; power <= 1000000; power *= 10)
        for (size_t length = power - 1; length <= power + 1; length++)
            one_run(length);
    one_run(65535);
    one_run(65536);
    one_run(5000000);
    for (unsigned seed = 1; seed <= 200; seed++)
        many_runs(seed);

    char *one = rle_pack("aaaaaaaaaaaa"), *other = rle_pack("bbbbbbbbbbb"), *back = rle_unpack("10c"), *more = rle_unpack("11d");
    need(strcmp(one, "12a") == 0 && strcmp(other, "11b") == 0, "two packed texts at once", 0);
    need(strcmp(back, "cccccccccc") == 0 && strcmp(more, "ddddddddddd") == 0, "two texts at once", 0);
    free(one);
    free(other);
    free(back);
    free(more);
    return 0;
}
END
sources=$(ls src/*.c | grep -v '/main\.c$')
cc -std=gnu11 -O1 -Iinclude -o "$work/runs" "$work/runs.c" $sources -lm
"$work/runs"
cc -std=gnu11 -O2 -DNDEBUG -Iinclude -o "$work/released" "$work/runs.c" $sources -lm
"$work/released"
# With a look at every access where the compiler can do that.
echo 'int main(void) { return 0; }' >"$work/try.c"
if cc -fsanitize=address -o "$work/try" "$work/try.c" && ASAN_OPTIONS=detect_leaks=0 "$work/try"; then
  cc -std=gnu11 -O1 -fsanitize=address -Iinclude -o "$work/watched" "$work/runs.c" $sources -lm
  ASAN_OPTIONS=detect_leaks=0 "$work/watched"
fi
