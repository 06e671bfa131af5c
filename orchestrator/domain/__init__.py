"""The words of the house as frozen data: no I/O, no clock, no async."""
