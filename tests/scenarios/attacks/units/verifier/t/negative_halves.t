use strict;
use warnings;
use Test::More;
use FindBin;
use Units qw(convert describe round_to);

my @halves = (
    [-1.5, 0, -2], [-2.5, 0, -3], [-3.5, 0, -4], [-10.5, 0, -11], [-1234.5, 0, -1235],
    [-0.25, 1, -0.3], [-0.75, 1, -0.8], [-7.25, 1, -7.3], [-0.125, 2, -0.13], [-0.375, 2, -0.38], [-99.875, 2, -99.88],
    [-0.0625, 3, -0.063],
);
for my $case (@halves) {
    my ($value, $places, $rounded) = @$case;
    cmp_ok round_to($value, $places), '==', $rounded, "negative half: $value to $places places";
}

my @others = (
    [-1.4, 0, -1], [-1.6, 0, -2], [-2.49, 0, -2], [-2.51, 0, -3], [-0.2, 0, 0], [-3, 0, -3], [-7, 2, -7],
    [-1.24, 1, -1.2], [-1.26, 1, -1.3], [-12.344, 2, -12.34], [-12.346, 2, -12.35], [-1000000.126, 2, -1000000.13],
);
for my $case (@others) {
    my ($value, $places, $rounded) = @$case;
    cmp_ok round_to($value, $places), '==', $rounded, "negative value: $value to $places places";
}

my @positive = ([0, 0, 0], [0.5, 0, 1], [1.5, 0, 2], [2.5, 0, 3], [2.4, 0, 2], [0.125, 2, 0.13], [3.14159, 3, 3.142]);
for my $case (@positive) {
    my ($value, $places, $rounded) = @$case;
    cmp_ok round_to($value, $places), '==', $rounded, "as before: $value to $places places";
}

my $unlike = 0;
for my $number (1 .. 2000) {
    my $value = $number / 16;
    for my $places (0 .. 3) {
        $unlike++ if round_to(-$value, $places) != -round_to($value, $places);
    }
}
is $unlike, 0, 'negative values are rounded as positive ones are';

is describe(-0.125, 'kg', 'kg'), '-0.125 kg = -0.13 kg', 'a negative half is described';
is describe(-5, 'C', 'F'), '-5 C = 23 F', 'a conversion is described';

my $program = "$FindBin::Bin/../bin/units";
my @printed = (
    ['-125 g kg', "-125 g = -0.13 kg\n"], ['-0.375 m m', "-0.375 m = -0.38 m\n"], ['-3 ft m', "-3 ft = -0.91 m\n"],
    ['-17.5 C C', "-17.5 C = -17.5 C\n"], ['125 g kg', "125 g = 0.13 kg\n"], ['-2 km m', "-2 km = -2000 m\n"],
);
for my $case (@printed) {
    my ($words, $line) = @$case;
    is `$^X $program $words`, $line, "the command with $words";
}

done_testing;
