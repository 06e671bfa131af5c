"""Work in the background."""


def run(work):
    """Do it now."""
    return work()
