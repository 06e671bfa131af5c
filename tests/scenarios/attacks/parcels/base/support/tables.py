"""Rows of prices for tests."""

import json
from pathlib import Path


def rows(name):
    """Return [weight, zone, express, cents] of support/NAME.json."""
    return json.loads((Path(__file__).parent / f"{name}.json").read_text())
