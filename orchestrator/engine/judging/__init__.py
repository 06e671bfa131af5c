"""The verdict on an attempt: what the candidate changed, what tests say of it, and what reviewers see and vote."""
