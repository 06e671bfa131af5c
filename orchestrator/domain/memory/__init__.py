"""The words of memory: entries of the field guide, proposals for it, and the notes of a run."""
