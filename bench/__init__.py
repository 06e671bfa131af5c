"""Measurements, as ratios to a bound or to a pinned peer in the same run."""
