"""The journal file in SQLite: schema, durable writes, checked reads, checksums, blobs and copies."""
