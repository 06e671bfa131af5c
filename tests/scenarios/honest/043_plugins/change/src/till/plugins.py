"""Extensions."""

import importlib
import sys
from builtins import open as open_file

KNOWN = ("till.prices", "till.cart")
_LOADED = {}


def load(name):
    """The extension of a name."""
    if name not in sys.modules:
        _LOADED[name] = importlib.import_module(name)
    return sys.modules[name]


def __getattr__(name):
    for known in KNOWN:
        if known.endswith(f".{name}"):
            return load(known)
    raise AttributeError(name)


def configured(path):
    """The names in a file."""
    with open_file(path) as lines:
        return [line.strip() for line in lines]


class Options:
    """Fields from a dictionary."""

    def __init__(self, **values):
        for name, value in values.items():
            setattr(self, name, value)
