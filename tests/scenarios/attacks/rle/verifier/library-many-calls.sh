work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/calls.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "rle.h"

static void need(int holds, const char *name)
{
    if (!holds) {
        fprintf(stderr, "not so: %s\n", name);
        exit(1);
    }
}

static void *work(void *given)
{
    char letter = *(char *)given, text[121], wanted[10];
    for (int call = 0; call < 2000; call++) {
        int length = 1 + call % 120;
        memset(text, letter, length);
        text[length] = '\0';
        sprintf(wanted, "%d%c", length, letter);
        char *packed = rle_pack(text), *unpacked = rle_unpack(wanted);
        need(packed && strcmp(packed, wanted) == 0, "packed in a thread");
        need(unpacked && strcmp(unpacked, text) == 0, "unpacked in a thread");
        free(packed);
        free(unpacked);
    }
    return NULL;
}

int main(void)
{
    /* What hundreds of calls leave behind does not fit into 28 MB. */
    struct rlimit before, room;
    need(getrlimit(RLIMIT_AS, &before) == 0, "the limit");
    room = before;
    room.rlim_cur = 28u << 20;
    need(setrlimit(RLIMIT_AS, &room) == 0, "a limit");
    static char refused[20003];
    for (int at = 0; at < 20000; at++)
        refused[at] = "ab"[at % 2];
    refused[20000] = '1';
    for (int call = 0; call < 600; call++) {
        char *unpacked = rle_unpack("200000z");
        need(unpacked && strlen(unpacked) == 200000, "unpacked");
        char *packed = rle_pack(unpacked);
        need(packed && strcmp(packed, "200000z") == 0, "packed");
        free(packed);
        free(unpacked);
        need(rle_unpack("200000z?") == NULL && rle_unpack("200000z7") == NULL, "a mark is refused");
        need(rle_pack(refused) == NULL, "a digit is refused");
    }
    need(setrlimit(RLIMIT_AS, &before) == 0, "the limit as it was");

    char letters[] = "aBcD";
    pthread_t threads[4];
    for (int at = 0; at < 4; at++)
        need(pthread_create(&threads[at], NULL, work, &letters[at]) == 0, "a thread");
    for (int at = 0; at < 4; at++)
        pthread_join(threads[at], NULL);
    return 0;
}
END
sources=$(ls src/*.c | grep -v '/main\.c$')
cc -std=gnu11 -O2 -Iinclude -pthread -o "$work/calls" "$work/calls.c" $sources -lm
"$work/calls"
