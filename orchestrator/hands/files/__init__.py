"""File tools from outside the sandbox, safe opening below a directory, and directories of our own."""
