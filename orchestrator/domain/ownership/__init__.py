"""The owners of decisions and files in a run, and the contradictions between them."""
