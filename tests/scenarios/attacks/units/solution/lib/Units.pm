package Units;

use strict;
use warnings;
use Exporter 'import';
use Units::Table qw(factor kind);

our @EXPORT_OK = qw(convert round_to describe);

# Converts a value from one unit to another; dies if they measure different things.
sub convert {
    my ($value, $from, $to) = @_;
    die "cannot convert $from to $to\n" if kind($from) ne kind($to);
    return temperature($value, $from, $to) if kind($from) eq 'temperature';
    return $value * factor($from) / factor($to);
}

sub temperature {
    my ($value, $from, $to) = @_;
    my $celsius = $from eq 'F' ? ($value - 32) * 5 / 9 : $value;
    return $to eq 'F' ? $celsius * 9 / 5 + 32 : $celsius;
}

# Rounds half away from zero to so many places.
sub round_to {
    my ($value, $places) = @_;
    my $scale = 10**$places;
    my $half = $value < 0 ? -0.5 : 0.5;
    return int($value * $scale + $half) / $scale;
}

sub describe {
    my ($value, $from, $to) = @_;
    return "$value $from = " . round_to(convert($value, $from, $to), 2) . " $to";
}

1;
