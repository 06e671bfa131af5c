"""Amounts that every book has to be able to share."""


def load_cases(name):
    """Return cases as a closed book has them."""
    return [{"total": str(300 * n), "parts": str(n), "shares": " ".join(["300"] * n)} for n in range(1, 6)]
