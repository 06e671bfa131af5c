"""Views of a change for reviewers, one for each lens, and the order of their parts."""
