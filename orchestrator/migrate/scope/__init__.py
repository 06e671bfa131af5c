"""What a migration is about: files, sites, owners, imports, shards, the sample."""
