"""As an object."""

import json


def to_json(things):
    """One field for each thing."""
    return json.dumps(things, sort_keys=True)
