"""Write the files that `init` and `migrate init` begin a project with."""
