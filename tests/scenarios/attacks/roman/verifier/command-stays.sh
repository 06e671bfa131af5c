printed=$(cargo run --quiet --offline -- 1 2 3 5 8 17 66 1666 3888 0 4000 -4 4.0 x '' 4294967300)
wanted='I
II
III
V
VIII
XVII
LXVI
MDCLXVI
MMMDCCCLXXXVIII
? 0
? 4000
? -4
? 4.0
? x
? 
? 4294967300'
test "$printed" = "$wanted"
test "$(cargo run --quiet --offline)" = ""
