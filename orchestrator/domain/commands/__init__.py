"""The commands of people to a run: their definitions, reasons to refuse one, and their effect on the run's state."""
