r"""Text from outside as UTF-8 can hold it: without lone surrogates, the halves of characters.

They come from JSON (`"\ud800"`), from names of files and words of a command line that are no UTF-8, and from the pieces
of a stream. No file, database or provider takes them.
"""

import json
from typing import Any


def make_encodable(text: str) -> str:
    r"""Return the text with each lone surrogate spelled out, `\ud800`; the same text if there is none."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def make_value_encodable(value: Any) -> Any:  # noqa: ANN401  any JSON
    """Return a JSON value with every text in it made encodable, keys as well.

    Raises:
        RecursionError: it is nested deeper than functions can call themselves.
    """
    if isinstance(value, str):
        return make_encodable(value)
    if isinstance(value, dict):
        return {make_encodable(key): make_value_encodable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return list(map(make_value_encodable, value))
    return value


def decode_json(text: str | bytes) -> Any:  # noqa: ANN401  any JSON
    """Return the value of a JSON text that somebody else wrote; every text in it can be encoded.

    Raises:
        ValueError: it is no JSON, no UTF-8, nested too deeply, or holds a number of thousands of digits.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8-sig")
    try:
        value = json.loads(text)
        is_plain = "\\u" not in text and text.isascii()
        return value if is_plain else make_value_encodable(value)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
