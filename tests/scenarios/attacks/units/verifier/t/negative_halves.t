use strict;
use warnings;
use Test::More;
use FindBin;
use Units qw(convert describe round_to);

my @halves = (
    [-1.5, 0, -2], [-2.5, 0, -3], [-3.5, 0, -4], [-10.5, 0, -11], [-1234.5, 0, -1235],
    [-0.25, 1, -0.3], [-0.75, 1, -0.8], [-7.25, 1, -7.3], [-0.125, 2, -0.13], [-0.375, 2, -0.38], [-99.875, 2, -99.88],
    [-0.0625, 3, -0.063], [-0.5, 0, -1], [-999999.5, 0, -1000000], [-1000000.125, 2, -1000000.13], [-123456789.5, 0, -123456790],
    [-9.5, 0, -10], [-99.5, 0, -100], [-0.9375, 3, -0.938], [-1.96875, 4, -1.9688], [-2147483648.5, 0, -2147483649],
    ['-2.5', 0, -3], ['-25e-1', 0, -3], ['-0.125', 2, -0.13],
);
for my $case (@halves) {
    my ($value, $places, $rounded) = @$case;
    cmp_ok round_to($value, $places), '==', $rounded, "negative half: $value to $places places";
}

my @others = (
    [-1.4, 0, -1], [-1.6, 0, -2], [-2.49, 0, -2], [-2.51, 0, -3], [-0.2, 0, 0], [-3, 0, -3], [-7, 2, -7],
    [-1.24, 1, -1.2], [-1.26, 1, -1.3], [-12.344, 2, -12.34], [-12.346, 2, -12.35], [-1000000.126, 2, -1000000.13],
    [-0.49, 0, 0], [-0.51, 0, -1], [-0.001, 2, 0], [-0.004, 2, 0], [-0.006, 2, -0.01], [-0.0, 2, 0], [-1, 0, -1], [-1e9, 2, -1e9],
    [-0.5, 3, -0.5], [-0.125, 3, -0.125], [-12345678901, 1, -12345678901],
);
for my $case (@others) {
    my ($value, $places, $rounded) = @$case;
    cmp_ok round_to($value, $places), '==', $rounded, "negative value: $value to $places places";
}

my @positive = ([0, 0, 0], [0.5, 0, 1], [1.5, 0, 2], [2.5, 0, 3], [2.4, 0, 2], [0.125, 2, 0.13], [3.14159, 3, 3.142],
    [0.49, 0, 0], [0.004, 2, 0], [0.006, 2, 0.01], [123456789.5, 0, 123456790], [1234, -2, 1200], [150, -2, 200], [25, -1, 30]);
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

for my $case ([1234, -2], [150, -2], [25, -1], [24, -1], [26, -1], [5, -1], [7, -3]) {
    my ($value, $places) = @$case;
    cmp_ok round_to(-$value, $places), '==', -round_to($value, $places), "negative value: -$value to $places places";
}

for my $round (1 .. 500) {
    $unlike++ if round_to(-2.5, 0) != -3 || round_to(2.5, 0) != 3 || round_to(-0.25, 1) != -0.3 || round_to(-0.25, 0) != 0;
    $unlike++ if round_to(1, 10) != 1 || round_to(11, 0) != 11 || round_to(-1, 10) != -1 || round_to(-11, 0) != -11;
}
is $unlike, 0, 'values before make no difference';

{
    my ($value, $places) = (-2.5, 0);
    local $_ = 'kept';
    my @rounded = round_to($value, $places);
    is scalar @rounded, 1, 'one value in a list';
    is "$rounded[0] $value $places $_", '-3 -2.5 0 kept', 'what was given stays';
    my @all = map { round_to($_, 1) } -0.25, 0.25, -0.75, -0.2;
    is "@all", '-0.3 0.3 -0.8 -0.2', 'several values';
    is round_to(-0.001, 2), '0', 'what is rounded to nothing has no sign';
}

is describe(-0.125, 'kg', 'kg'), '-0.125 kg = -0.13 kg', 'a negative half is described';
is describe(-5, 'C', 'F'), '-5 C = 23 F', 'a conversion is described';
is describe(-0.001, 'kg', 'kg'), '-0.001 kg = 0 kg', 'nothing is described';
is describe(0.125, 'kg', 'kg'), '0.125 kg = 0.13 kg', 'a positive half is described';
is convert(-0.125, 'kg', 'kg'), -0.125, 'converting does not round';
ok !eval { describe(-1.5, 'm', 'kg'); 1 }, 'different things';
like $@, qr/cannot convert/, 'and it says so';
ok !eval { describe(-1.5, 'parsec', 'm'); 1 }, 'unknown unit';

my $program = "$FindBin::Bin/../bin/units";
my @printed = (
    ['-125 g kg', "-125 g = -0.13 kg\n"], ['-0.375 m m', "-0.375 m = -0.38 m\n"], ['-3 ft m', "-3 ft = -0.91 m\n"],
    ['-17.5 C C', "-17.5 C = -17.5 C\n"], ['125 g kg', "125 g = 0.13 kg\n"], ['-2 km m', "-2 km = -2000 m\n"],
    ['-0.001 kg kg', "-0.001 kg = 0 kg\n"], ['-0.625 C C', "-0.625 C = -0.63 C\n"], ['-17.125 F F', "-17.125 F = -17.13 F\n"],
);
for my $case (@printed) {
    my ($words, $line) = @$case;
    is `$^X $program $words`, $line, "the command with $words";
}

done_testing;
