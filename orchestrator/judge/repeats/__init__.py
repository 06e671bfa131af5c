"""Running a green candidate's tests several times in one process, so that one which fails now and then shows itself."""
