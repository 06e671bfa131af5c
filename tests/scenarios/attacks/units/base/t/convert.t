use strict;
use warnings;
use Test::More;
use Units qw(convert);

is convert(2, 'km', 'm'), 2000, 'length';
is convert(500, 'g', 'kg'), 0.5, 'weight';
is convert(100, 'C', 'F'), 212, 'boiling';
is convert(-40, 'F', 'C'), -40, 'where both are the same';
ok !eval { convert(1, 'm', 'kg') }, 'different things';
like $@, qr/cannot convert/, 'and it says so';
ok !eval { convert(1, 'parsec', 'm') }, 'unknown unit';

done_testing;
