"""Compares machines by what commands find on them: a change must not be judged by another tool chain."""

from itertools import zip_longest

_PROGRAMS = ("python3", "python", "node", "npm", "git", "cc", "gcc", "make", "cargo", "go", "ruby", "php", "bash")
_PYTHON = "import sys; print(sys.executable, sys.version.split()[0], sys.prefix)"

PROBE = (
    "uname -sm; pwd; echo PATH=$PATH; "
    f"for program in {' '.join(_PROGRAMS)}; do "
    'if found=$(command -v "$program"); then echo "$program: $found $("$program" --version 2>&1 | head -n 1)"; fi; '
    f"done; python3 -c '{_PYTHON}' 2>/dev/null; ldd --version 2>&1 | head -n 1; true"
)
"""A command line that prints the system, and where each of the usual programs is in which version."""


def describe_difference(here: str, there: str) -> str:
    """Return the first line in which two machines differ, in words; empty if they do not."""
    for mine, other in zip_longest(here.splitlines(), there.splitlines(), fillvalue="nothing"):
        if mine != other:
            return f"{other!r} there, {mine!r} here"
    return ""
