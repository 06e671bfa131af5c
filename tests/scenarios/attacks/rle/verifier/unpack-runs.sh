make -s build/rle
run() { head -c "$1" /dev/zero | tr '\0' "$2"; }
for length in 1 2 9 10 11 19 20 99 100 101 255 256 257 999 1000 1001 65535 65536 100000; do
  test "$(build/rle unpack "${length}k")" = "$(run $length k)"
done 2>/dev/null
test "$(build/rle unpack 1x10y1z)" = xyyyyyyyyyyz
test "$(build/rle unpack 12a12A)" = aaaaaaaaaaaaAAAAAAAAAAAA
test "$(build/rle unpack 3000000q | wc -c)" -eq 3000001
for text in abc mississippi "$(run 25 a)b" "$(run 9 b)$(run 10 c)$(run 100 b)" "Q$(run 77777 z)q"; do
  test "$(build/rle unpack "$(build/rle pack "$text")")" = "$text"
done 2>/dev/null
