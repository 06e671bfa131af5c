"""What a run cost, and how far its budgets are used."""
