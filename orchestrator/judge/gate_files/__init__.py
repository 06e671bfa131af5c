"""Which files of a repository the gate's commands run or are configured by."""
