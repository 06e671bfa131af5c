"""The field guide: what may enter it, what ends in it, what of it is told to whom, and where it lies."""
