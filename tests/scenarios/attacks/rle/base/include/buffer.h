#ifndef BUFFER_H
#define BUFFER_H
#include <stddef.h>

struct buffer {
    char *text;
    size_t length, room;
};

void buffer_add(struct buffer *buffer, char letter, size_t times);
char *buffer_take(struct buffer *buffer);

#endif
