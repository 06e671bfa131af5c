"""A run as frozen data: tasks, attempts, plans, the contract, approvals, and the state that events fold to."""
