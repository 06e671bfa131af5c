"""The reach of commands: capability tiers, network decisions, and the policy violations that agents try."""
