use strict;
use warnings;
use Test::More;
use Cases;
use Units qw(round_to);

for my $row (Cases::rows('cases')) {
    my ($value, $places, $rounded) = @$row;
    is round_to($value, $places), $rounded, "round $value to $places";
}

done_testing;
