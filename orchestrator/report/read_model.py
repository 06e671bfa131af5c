"""The base of what `--json` prints: frozen models from which both the objects and their JSON Schemas are made."""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import ConfigDict, Field
from pydantic.json_schema import SkipJsonSchema

from orchestrator.domain.frozen_model import FrozenModel

T = TypeVar("T")


def is_absent(value: object) -> bool:
    """Return True for the value of a field that is left out of the object."""
    return value is None


Omittable = Annotated[T | SkipJsonSchema[None], Field(exclude_if=is_absent)]
"""A field that an object has only where its value is not None; its schema does not require it."""


class ReadModel(FrozenModel):
    """An object within a document. Its schema requires every field that is not `Omittable`.

    Unknown keys are ignored: another version may have written them.
    """

    model_config = ConfigDict(
        extra="ignore",
        json_schema_serialization_defaults_required=True,
        serialize_by_alias=True,
        validate_by_alias=True,
        validate_by_name=True,
    )

    def as_object(self) -> dict[str, Any]:
        """Return the object for `--json`, with its keys in the order of the fields."""
        return self.model_dump(mode="json")


class Document(ReadModel):
    """An object that a verb prints. Each kind names its schema, as in `class CostReport(Document, schema=…)`."""

    schema_name: str = Field(default="", alias="schema")

    def __init_subclass__(cls, schema: str = "", **config: Any) -> None:  # noqa: ANN401
        """Make the name of the schema the only value of `schema_name`."""
        if schema:
            cls.__annotations__["schema_name"] = Literal[schema]
            cls.schema_name = Field(default=schema, alias="schema")
        super().__init_subclass__(**config)

    def copy_fields(self) -> dict[str, Any]:
        """Return all fields but the schema's name, for a document that says more."""
        fields = dict(self)
        del fields["schema_name"]
        return fields
