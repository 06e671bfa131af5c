make -s build/rle
for times in 1 2; do
  test "$(build/rle pack '')" = ""
  test "$(build/rle pack abc)" = 1a1b1c
  test "$(build/rle pack aaab)" = 3a1b
  test "$(build/rle pack mississippi)" = 1m1i2s1i2s1i2p1i
  test "$(build/rle pack aAAa)" = 1a2A1a
  test "$(build/rle pack zzzzzzzzz)" = 9z
  test "$(build/rle pack eeeEx)" = 3e1E1x
  test "$(build/rle unpack '')" = ""
  test "$(build/rle unpack 2a2b)" = aabb
  test "$(build/rle unpack 9z)" = zzzzzzzzz
  test "$(build/rle unpack 3a2a)" = aaaaa
  test "$(build/rle unpack 1e3a)" = eaaa
  test "$(build/rle unpack 2E1x3L)" = EExLLL
done
