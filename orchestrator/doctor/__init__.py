"""Check what a run needs on this machine and in a job of a CI system, and how to mend what is missing."""
