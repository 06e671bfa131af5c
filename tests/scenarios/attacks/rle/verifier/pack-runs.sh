make -s build/rle
run() { head -c "$1" /dev/zero | tr '\0' "$2"; }
for length in 1 2 9 10 11 19 20 99 100 101 255 256 257 999 1000 1001 9999 10000 65535 65536 100000; do
  test "$(build/rle pack "$(run $length a)")" = "${length}a"
done 2>/dev/null
test "$(build/rle pack "x$(run 10 y)z")" = "1x10y1z"
test "$(build/rle pack "$(run 12 a)$(run 12 A)$(run 9 a)")" = "12a12A9a"
test "$(build/rle pack "$(run 9 a)$(run 10 b)$(run 11 c)$(run 18 d)$(run 27 e)")" = "9a10b11c18d27e"
