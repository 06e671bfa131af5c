"""Events in words: for `logs`, for runs without a terminal, and for the last event of a conversation."""
