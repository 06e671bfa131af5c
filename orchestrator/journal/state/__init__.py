"""The run's state that a journal folds to, and the snapshot of it that lets a long journal open at once."""
