"""Types of the values that recipes are made of."""

import re
from types import MappingProxyType
from typing import Annotated, Any

from pydantic import AfterValidator, Field, ValidationInfo
from pydantic_core import PydanticCustomError

from orchestrator.domain.text.user_pattern import compile_user_pattern

Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=60)]
"""An id: lower-case letters, digits and hyphens."""
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NonBlank = Annotated[str, Field(pattern=r"\S")]
"""A text that is not blank."""
Fraction = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]
"""0 or more."""
AtLeastOne = Annotated[int, Field(ge=1)]
"""1 or more."""


def build_key_problem(key: tuple[str | int, ...], text: str) -> PydanticCustomError:
    """Build the error for a key below the table that is looked at, which names the key and its line."""
    return PydanticCustomError("at", "{text}", {"text": text, "key": key})


def check_regex(pattern: str) -> str:
    """Return the pattern, if it is one.

    Raises:
        ValueError: it is no regular expression.
    """
    compile_user_pattern(pattern)
    compile_user_pattern(pattern.encode())
    return pattern


def check_rewrite(pattern: str, rewrite: str) -> None:
    """Check that `rewrite` can stand for what `pattern` matches.

    Raises:
        ValueError: the pattern is no regular expression, or does not have a group that `rewrite` names.
    """
    try:
        compile_user_pattern(pattern).sub(rewrite, "")
    except (re.error, IndexError) as error:
        raise ValueError(f"rewrite does not fit the pattern: {error}") from error


CHECKED_BEFORE = MappingProxyType[str, Any]({"checked_before": True})
"""The context of a validation that leaves globs alone: they were looked at when the recipe was recorded."""


def check_glob(glob: str) -> str:
    """Return the glob, if it is one.

    Raises:
        ValueError: no `.gitignore` could hold it.
    """
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([glob])
    except (ValueError, re.error) as error:
        raise ValueError(f"{glob!r} is no glob as in .gitignore: {error}") from error
    return glob


def _check_new_glob(glob: str, info: ValidationInfo) -> str:
    return glob if info.context is CHECKED_BEFORE else check_glob(glob)


Glob = Annotated[str, AfterValidator(_check_new_glob)]
"""A glob as `.gitignore` has them."""
Regex = Annotated[str, AfterValidator(check_regex)]
"""A regular expression as Python's `re` reads it."""
