"""What commands may reach: capability tiers, network decisions, and the policy violations that agents try."""
