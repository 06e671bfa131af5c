"""The gate: run its checks on a tree, and compare the outcomes with the baseline's."""
