"""Words in the shopper's language."""

import json
from pathlib import Path

_FOLDER = Path(__file__).with_name("locale")


def word(key, language):
    """The word for a key."""
    return json.loads((_FOLDER / f"{language}.json").read_text(encoding="utf-8"))[key]
