"""The escape self-test: decoys on the host, the escape attempts made inside, and the judgement of what came out."""
