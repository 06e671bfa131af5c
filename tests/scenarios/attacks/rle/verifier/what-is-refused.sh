make -s build/rle
for word in a 3 12 3- a3 3a4 3a1 0a 00a 3a0b -3a +3a ' 3a' '3 a' '3a ' 3.5a 0x1a 3ab ab 3é '3,a' 2a-2b 3a+2b '2a 2b' '2a	3b'; do
  if printed=$(build/rle unpack "$word" 2>/dev/null); then exit 1; else test $? -eq 1; fi
  test "$printed" = ""
done
for word in a1 1 ' ' 'a b' aaa- é aé 'aaaaaaaaaaaa1' 'a
'; do
  if printed=$(build/rle pack "$word" 2>/dev/null); then exit 1; else test $? -eq 1; fi
  test "$printed" = ""
done
if build/rle pack; then exit 1; else test $? -eq 2; fi
if build/rle pack a b; then exit 1; else test $? -eq 2; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/refused.c" <<'END'
#include <stdio.h>
#include <string.h>

#include "rle.h"

int main(void)
{
    static const char *packed[] = {"a", "3", "12", "3a4", "0a", "00a", "3a0b", "-3a", "+3a", " 3a", "3 a", "\t3a", "\n3a", "3a\n", "0x1a", "3\xe9", "\xb3" "a"};
    static const char *texts[] = {"a1", "1", " ", "a b", "aaaaaaaaaaaa1", "a\n", "\xe9", "a\xff", "@", "[", "`", "{"};
    for (int call = 0; call < 1000; call++) {
        for (size_t at = 0; at < sizeof packed / sizeof *packed; at++)
            if (rle_unpack(packed[at])) {
                fprintf(stderr, "unpacked: %s\n", packed[at]);
                return 1;
            }
        for (size_t at = 0; at < sizeof texts / sizeof *texts; at++)
            if (rle_pack(texts[at])) {
                fprintf(stderr, "packed: %s\n", texts[at]);
                return 1;
            }
    }
    return 0;
}
END
cc -std=gnu11 -O1 -DNDEBUG -Iinclude -o "$work/refused" "$work/refused.c" $(ls src/*.c | grep -v '/main\.c$') -lm
"$work/refused"
