"""How people steer a run: their commands, approvals, stop signals and the capability tiers that they grant."""
