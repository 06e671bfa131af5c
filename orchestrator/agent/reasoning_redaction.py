"""A model's thinking without secrets.

A provider refuses signed thinking of which a character was changed. So what holds a secret is withheld whole: the
journal keeps the readable text without the secret, and nothing of it goes back to the provider.
"""

import json
from collections.abc import Callable

from orchestrator.domain.chat import Reasoning


def hide_reasoning_secrets(reasoning: Reasoning | None, hide: Callable[[str], str]) -> Reasoning | None:
    """Return thinking as everybody is to know it; blocks that hold a secret, however escaped, are withheld.

    Args:
        reasoning: as the provider sent it.
        hide: returns a text without the secrets that are known.
    """
    if reasoning is None:
        return None
    text = hide(reasoning.text)
    if not reasoning.blocks or _is_clean(reasoning.blocks, hide):
        return reasoning.model_copy(update={"text": text})
    return Reasoning(text=text, is_withheld=True)


def _is_clean(blocks: str, hide: Callable[[str], str]) -> bool:
    """Return True if neither the JSON text nor a string in it holds a secret; False too where it is nested too deep."""
    try:
        return hide(blocks) == blocks and _is_value_clean(json.loads(blocks), hide)
    except RecursionError:
        return False


def _is_value_clean(value: object, hide: Callable[[str], str]) -> bool:
    if isinstance(value, str):
        return hide(value) == value
    if isinstance(value, dict):
        return _is_value_clean(list(value.values()), hide)
    if isinstance(value, list):
        return all(_is_value_clean(item, hide) for item in value)
    return True
