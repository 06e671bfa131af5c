"""Keep a replay to the recorded order: milestones, whose turn it is, queue rounds, stopped calls."""
