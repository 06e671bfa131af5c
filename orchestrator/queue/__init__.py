"""The queue: what may land, in which order, and who is guilty of a red union."""
