"""What calls cost and may cost: usage, prices, limits, and the accounts of one run."""
