package Cases;

use strict;
use warnings;
use FindBin;

# The rows of share/NAME.tsv, without the head.
sub rows {
    my ($name) = @_;
    open my $file, '<', "$FindBin::Bin/../share/$name.tsv" or die "$name: $!";
    my @rows = map { chomp; [split /\t/] } <$file>;
    shift @rows;
    return @rows;
}

1;
