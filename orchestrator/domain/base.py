"""The base of every domain type: frozen, strict about unknown keys, comparable by value.

Validators are built at first use (`defer_build`): a command that reads a journal pays only for the kinds it meets.
"""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """An immutable value; an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
