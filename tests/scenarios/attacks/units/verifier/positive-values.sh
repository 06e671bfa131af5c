printed=$(perl -Ilib -MUnits=convert,round_to -e '
    print join(" ", map { round_to($_, 0) } 0, 0.4, 0.5, 1.5, 2.5, 2.4, 123456789.5), "\n";
    print join(" ", map { round_to($_, 2) } 0.125, 0.375, 7, 12.344, 12.346, 0.004), "\n";
    print join(" ", round_to(1234, -2), round_to(25, -1), round_to(3.14159, 3)), "\n";
    print join(" ", convert(-40, "F", "C"), convert(500, "g", "kg"), convert(-0.125, "m", "m")), "\n";
')
wanted="0 0 1 2 3 2 123456790
0.13 0.38 7 12.34 12.35 0
1200 30 3.142
-40 0.5 -0.125"
test "$printed" = "$wanted"
