"""Describe a value that pydantic refused, in words for people."""

from pydantic import ValidationError


def describe_first_problem(error: ValidationError, whole: str = "the value") -> str:
    """Return the first thing that is wrong, as `place: what`; `whole` is the place if all of the value is wrong."""
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place or whole}: {first['msg']}"
