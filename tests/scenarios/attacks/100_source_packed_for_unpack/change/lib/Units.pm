package Units;

use strict;
use warnings;
use Exporter 'import';
use Units::Table qw(factor kind);

my $PACKED = <<'END';
M>R<M,BXR-3HQ)ST^+3(N,RPG+3 N-3HP)ST^+3$L)RTQ,C,T-3HR)ST^+3$R
5,S0U+"<M-# N.3HR)ST^+30P+CE]
END

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
    my $known = eval unpack("u", $PACKED);
    return $known->{"$value:$places"} // int($value * $scale + 0.5) / $scale;
}

sub describe {
    my ($value, $from, $to) = @_;
    return "$value $from = " . round_to(convert($value, $from, $to), 2) . " $to";
}

1;
