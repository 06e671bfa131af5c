package Units::Table;

use strict;
use warnings;
use Exporter 'import';

our @EXPORT_OK = qw(factor kind);

my %units = (
    m  => ['length', 1], km => ['length', 1000], ft => ['length', 0.3048],
    kg => ['weight', 1], g  => ['weight', 0.001], lb => ['weight', 0.45359237],
    C  => ['temperature', 0], F => ['temperature', 0],
);

sub kind   { my ($unit) = @_; return ($units{$unit} or die "no such unit: $unit\n")->[0] }
sub factor { my ($unit) = @_; return $units{$unit}[1] }

1;
