"""What verbs do on a terminal only: colours, and a pager for what is longer than the screen."""
