"""Traces of runs: the ids of spans, and which span each event belongs to. Pure."""
