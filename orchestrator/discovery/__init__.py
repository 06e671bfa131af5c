"""Find what a recipe covers in a repository, before there is a run and without one."""
