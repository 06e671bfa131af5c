"""Settings from the environment."""

import os
from typing import *  # noqa: F403

VERBOSE = bool(os.environ.get("TILL_VERBOSE"))


def word(name):
    """As it stands."""
    return os.environ.get(name, "")


def number(name):
    """As a number."""
    return int(os.environ.get(name, "0"))  # type: ignore[arg-type]
