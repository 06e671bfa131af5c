"""The panes of the worker view: transcript, diff, files, texts."""
