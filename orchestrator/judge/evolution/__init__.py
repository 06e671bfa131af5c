"""The fates of the base's tests in a change, found in their syntax: the same, moved, grown, rewritten, gone."""
