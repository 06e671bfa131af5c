"""One program for each harness; those of other projects run in an environment of their own, without this one's code."""
