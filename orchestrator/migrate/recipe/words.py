"""The kinds of values that recipes are made of."""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=60)]
"""An id: lower-case letters, digits and hyphens."""
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Words = Annotated[str, Field(pattern=r"\S")]
"""A text that is not blank."""
Fraction = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=0)]
"""0 or more."""
Many = Annotated[int, Field(ge=1)]
"""1 or more."""


def compiled(pattern: str) -> str:
    """The pattern, if it is one.

    Raises:
        ValueError: it is no regular expression.
    """
    try:
        re.compile(pattern)
        re.compile(pattern.encode())
    except re.error as error:
        raise ValueError(f"no regular expression: {error}") from error
    return pattern


def replacing(pattern: str, rewrite: str) -> str:
    r"""What stands for matches of the pattern, if its `\1` and `\g<name>` are groups of it.

    Raises:
        ValueError: they are not, or it has an escape that means nothing.
    """
    groups = re.compile(pattern)
    names = {number: name for name, number in groups.groupindex.items()}
    alike = "".join(f"(?P<{names[n]}>)" if n in names else "()" for n in range(1, groups.groups + 1))
    matched = re.match(alike, "")
    assert matched, "nothing matches nothing"
    try:
        matched.expand(rewrite)
    except (re.error, IndexError) as error:
        raise ValueError(f"rewrite cannot stand for what the pattern matches: {error}") from error
    return rewrite


Regex = Annotated[str, AfterValidator(compiled)]
"""A regular expression as Python's `re` reads it."""
