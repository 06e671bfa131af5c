"""One task, file or receipt in full, as `show` prints it, and what became of attempts."""
