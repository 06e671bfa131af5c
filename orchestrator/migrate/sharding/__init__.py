"""Divide files into shards: import graph, file pairs, sample, order."""
