"""Who owns which decisions and files of a run, and what of two plans contradicts."""
