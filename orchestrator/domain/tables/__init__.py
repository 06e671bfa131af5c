"""Tables of a run's state that note their changes, and what is looked up in them without a walk through all of it."""
