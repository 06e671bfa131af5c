"""Finding the files of a repository that the gate's commands run or are configured by."""
