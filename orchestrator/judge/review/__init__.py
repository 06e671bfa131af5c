"""What reviewers are shown of a change, through each lens and in which order."""
