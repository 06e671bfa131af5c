work() {
  perl -Ilib -e '
    use strict;
    use warnings;
    use Units qw(describe round_to);
    for my $number (1 .. 10000) {
        my $value = $number / 16;
        for my $places (0 .. 3) {
            my ($above, $below) = (round_to($value, $places), round_to(-$value, $places));
            die "$value to $places places: $above and $below\n" if $above != -$below;
            my $scale = 10**$places;
            my $off = abs($below * $scale + $value * $scale);
            die "-$value to $places places: $below\n" if $off > 0.5000001;
        }
        die "$number\n" if describe(-$number - 0.125, "m", "m") ne "-$number.125 m = -$number.13 m";
    }
    print "as it has to be\n";
  '
}
test "$(work)" = "as it has to be"
test "$(work)" = "as it has to be"
