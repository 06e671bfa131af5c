"""The base of every domain type: frozen, strict about unknown keys, comparable by value."""

from pydantic import BaseModel, ConfigDict


class Frozen(BaseModel):
    """An immutable value; an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")
