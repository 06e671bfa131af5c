"""Labels of runs: names and values by which people and programs find them again."""

from typing import Annotated

from pydantic import AfterValidator

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.sanitization import to_one_line

_NAME = compile_lazily(r"[a-z0-9](?:[a-z0-9._/-]{0,61}[a-z0-9])?")
_VALUE_CHARS = 200


def _check_name(name: str) -> str:
    if _NAME.fullmatch(name) is None:
        raise ValueError(
            f"{name!r} is no name of a label: up to 63 small letters, digits, dots, slashes, hyphens and underscores, "
            "with a letter or digit at both ends"
        )
    return name


def _check_value(value: str) -> str:
    if len(value) > _VALUE_CHARS or to_one_line(value) != value:
        raise ValueError(f"{value[:40]!r} is no value of a label: one line of up to {_VALUE_CHARS} characters")
    return value


Labels = dict[Annotated[str, AfterValidator(_check_name)], Annotated[str, AfterValidator(_check_value)]]
"""Labels by their names."""
