printed=$(cargo run --quiet --offline -- 4 9 40 90 400 900 44 49 94 99 444 999 1984 2949 3999 17 3888)
wanted='IV
IX
XL
XC
CD
CM
XLIV
XLIX
XCIV
XCIX
CDXLIV
CMXCIX
MCMLXXXIV
MMCMXLIX
MMMCMXCIX
XVII
MMMDCCCLXXXVIII'
test "$printed" = "$wanted"
test "$(cargo run --quiet --offline -- 4 9)" = "IV
IX"
