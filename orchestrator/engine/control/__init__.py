"""The steering of a run by people: their commands, approvals, stop signals and the tiers that they grant."""
