"""Changes to valid input: of bytes, and of documents of tables and lists."""

import copy
import json
from random import Random
from typing import Any

from tests.fuzzing.odd_values import choose_text, choose_value

_TOKENS = (
    b"\0",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\\ud800",
    b"NaN",
    b"1e999",
    b"9" * 5_000,
    b"[" * 3_000,
    b'{"a":' * 3_000,
    b"(" * 2_000,
    b"\n" * 500,
    b"\r",
    b"-->",
    b"]]>",
    b"\x1b[2J",
    b'"""',
    b"'",
    b"[[",
    b" " * 2_000,
    b"../",
    b"\xef\xbb\xbf",
)


def mutate_bytes(chance: Random, content: bytes, most: int = 4) -> bytes:
    """Return the content with one to `most` changes."""
    for _ in range(chance.randrange(1, most + 1)):
        content = _change_bytes(chance, content)
    return content


def _change_bytes(chance: Random, content: bytes) -> bytes:
    start = chance.randrange(len(content) + 1)
    end = min(len(content), start + chance.choice((1, 2, 8, 64, 512, 4_096)))
    match chance.randrange(8):
        case 0:
            return content[:start] + content[chance.choice((end, len(content))) :]
        case 1 | 2:
            return content[:end] + content[start:]
        case 3:
            return content[:start] + chance.choice(_TOKENS) + content[start:]
        case 4:
            return content[:start] + chance.choice(_TOKENS) + content[end:]
        case 5:
            return content[:start] + chance.randbytes(end - start) + content[end:]
        case 6:
            return content[:start] + choose_text(chance).encode("utf-8", "surrogatepass") + content[end:]
        case _:
            flipped = bytes(byte ^ 1 << chance.randrange(8) for byte in content[start : start + 1])
            return content[:start] + flipped + content[start + 1 :]


def mutate_document(chance: Random, document: Any, most: int = 3) -> Any:
    """Return a document with one to `most` of its values, keys or entries changed."""
    holder = [copy.deepcopy(document)]
    for _ in range(chance.randrange(1, most + 1)):
        containers = _list_containers(holder)
        _change_container(chance, chance.choice(containers))
    return holder[0]


def _list_containers(value: Any) -> list[Any]:
    """Return all lists and tables that hold something, the outermost first."""
    found: list[Any] = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict) and one:
            found.append(one)
            waiting.extend(one.values())
        elif isinstance(one, list) and one:
            found.append(one)
            waiting.extend(one)
    return found


def _change_container(chance: Random, container: Any) -> None:
    if isinstance(container, list):
        place: Any = chance.randrange(len(container))
    else:
        place = chance.choice(list(container))
    match chance.randrange(8):
        case 0:
            if len(container) > 1 or isinstance(container, dict):
                del container[place]
        case 1 if isinstance(container, dict):
            container[choose_text(chance)] = container.pop(place)
        case 1 | 2 if isinstance(container, list):
            container.extend([copy.deepcopy(container[place])] * chance.choice((1, 2, 50)))
        case 2:
            container[choose_text(chance)] = choose_value(chance)
        case 3:
            container[place] = [container[place]]
        case 4:
            container[place] = {"a": container[place]}
        case 5 if isinstance(container[place], str):
            container[place] += choose_text(chance)
        case _:
            container[place] = choose_value(chance)


def encode_json(document: Any) -> bytes:
    """Return a document as JSON, with what JSON does not have as Python writes it."""
    with_digits = json.dumps(document, default=str)
    return with_digits.encode()


def encode_toml(document: Any) -> bytes:
    """Return a document as TOML: each key of the top on a line of its own, tables within it inline."""
    if not isinstance(document, dict):
        return _format_toml(document).encode("utf-8", "surrogatepass")
    lines = [f"{json.dumps(str(key))} = {_format_toml(value)}\n" for key, value in document.items()]
    return "".join(lines).encode("utf-8", "surrogatepass")


def _format_toml(value: Any) -> str:
    if isinstance(value, dict):
        inner = ", ".join(f"{json.dumps(str(key))} = {_format_toml(one)}" for key, one in value.items())
        return f"{{{inner}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_format_toml, value))}]"
    if isinstance(value, float):
        return str(value)
    if value is None:
        return '""'
    if isinstance(value, str) and max(value, default="") < "\ud800" and "\0" not in value:
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return json.dumps(value, default=str)
