"""`orchestrate watch`: the dashboard on a terminal, in a browser, as lines or as a film."""
