"""Where runs lie on disk, who works on one, and how much space they take."""
