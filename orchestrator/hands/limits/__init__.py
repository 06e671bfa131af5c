"""Resource limits of a command: rlimits, control groups, and the watchdog that measures what neither of them holds."""
