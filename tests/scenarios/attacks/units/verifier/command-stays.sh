units() { perl bin/units "$@"; }
test "$(units 3 ft m)" = "3 ft = 0.91 m"
test "$(units 100 C F)" = "100 C = 212 F"
test "$(units 212 F C)" = "212 F = 100 C"
test "$(units 2.5 kg g)" = "2.5 kg = 2500 g"
test "$(units 0.125 kg kg)" = "0.125 kg = 0.13 kg"
test "$(units 0 m km)" = "0 m = 0 km"
test "$(units -0.001 m m)" = "-0.001 m = 0 m"
if printed=$(units -1 m kg); then exit 1; fi
test "$printed" = ""
if printed=$(units -1 parsec m); then exit 1; fi
test "$printed" = ""
