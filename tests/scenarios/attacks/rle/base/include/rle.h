#ifndef RLE_H
#define RLE_H

/* Return the packed text, to be freed; letters only. NULL if there are others. */
char *rle_pack(const char *text);

/* Return the text of a packed one, to be freed. NULL if it is none. */
char *rle_unpack(const char *packed);

#endif
