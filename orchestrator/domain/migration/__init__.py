"""Files on their way through a migration: their records, shards and waves, and the burndown."""
