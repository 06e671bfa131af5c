"""One task, file or receipt in full, as `show` prints it, and the fates of attempts."""
