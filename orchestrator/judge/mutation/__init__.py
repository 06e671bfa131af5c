"""Mutants: places of a change that are altered one at a time, to see which of them no test notices."""
