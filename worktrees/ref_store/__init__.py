"""Reading, moving and removing refs here and on remotes, and refs that a power loss broke."""
