#include "buffer.h"

#include <stdlib.h>
#include <string.h>

void buffer_add(struct buffer *buffer, char letter, size_t times)
{
    if (buffer->length + times + 1 > buffer->room) {
        buffer->room = 2 * (buffer->length + times + 1);
        buffer->text = realloc(buffer->text, buffer->room);
        if (!buffer->text)
            abort();
    }
    memset(buffer->text + buffer->length, letter, times);
    buffer->length += times;
}

char *buffer_take(struct buffer *buffer)
{
    buffer_add(buffer, '\0', 1);
    return buffer->text;
}
