"""Events in words: lines of `logs`, lines of a run without a terminal, and the last event of a conversation."""
