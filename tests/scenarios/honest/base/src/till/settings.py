"""Settings from the environment."""

import os
from typing import *  # noqa: F403

VERBOSE = bool(os.environ.get("TILL_VERBOSE"))


def number(name):
    return int(os.environ.get(name, "0"))  # type: ignore[arg-type]


def word(name):
    return os.environ.get(name, "")
