"""What the history of a commit says: its log, how often files changed, who wrote which line."""
