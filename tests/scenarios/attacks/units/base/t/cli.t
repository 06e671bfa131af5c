use strict;
use warnings;
use Test::More;
use FindBin;

my $program = "$FindBin::Bin/../bin/units";
is `$^X $program 3 ft m`, "3 ft = 0.91 m\n", 'feet';
is `$^X $program -12.345 kg g`, "-12.345 kg = -12345 g\n", 'kilograms';
is `$^X $program -40.5 C F`, "-40.5 C = -40.9 F\n", 'below zero';

done_testing;
