"""The models and prices that the installed litellm knows, read from its file: to import litellm takes seconds."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_FILE = "model_prices_and_context_window_backup.json"
"""The list that litellm itself takes where it is to fetch none (`client.LITELLM_ENVIRONMENT`)."""

ModelEntries = Mapping[str, Mapping[str, object]]


@cache
def load_model_entries() -> ModelEntries:
    """Return litellm's entry of each model by its name; empty where the file is not found. Blocks."""
    spec = find_spec("litellm")
    if spec is None or spec.origin is None:
        return {}
    try:
        entries = json.loads((Path(spec.origin).parent / _FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    return {name: entry for name, entry in entries.items() if isinstance(entry, dict)}


def find_listed_provider(model: str) -> str:
    """Return the provider of a model that is named without one, such as `gpt-4o`; empty if the list lacks it."""
    return str(load_model_entries().get(model, {}).get("litellm_provider", ""))
