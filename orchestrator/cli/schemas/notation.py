"""A short notation for JSON Schema, and schemas made from models."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import TypeAdapter

from orchestrator.report.read_model import Document

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
ANY: Schema = {}
FLAG: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "number"}
TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
_DROPPED = {"title", "default", "$defs"}


def or_null(one: Schema) -> Schema:
    """Return a schema of `one` or null."""
    return {"anyOf": [one, {"type": "null"}]}


def list_of(one: Schema) -> Schema:
    """Return a schema of lists of `one`."""
    return {"type": "array", "items": one}


def table_of(one: Schema) -> Schema:
    """Return a schema of objects that hold `one` under any names."""
    return {"type": "object", "additionalProperties": one}


def one_of(*them: str) -> Schema:
    """Return a schema of one of these words."""
    return {"enum": list(them)}


def one_of_enum(kind: type[StrEnum]) -> Schema:
    """Return a schema of the values of an enumeration."""
    return one_of(*(one.value for one in kind))


def object_of(fields: Mapping[str, Schema], **rare: Schema) -> Schema:
    """Return a schema of objects that have all of `fields`, and may have the `rare` ones."""
    return {"type": "object", "properties": {**fields, **rare}, "required": list(fields)}


def merge_objects(one: Schema, *others: Schema) -> Schema:
    """Return a schema with the fields of all; a later one replaces one of the same name before."""
    fields: dict[str, Schema] = dict(one["properties"])
    required = dict.fromkeys(one["required"])
    for other in others:
        fields |= other["properties"]
        required |= dict.fromkeys(other["required"])
    return {"type": "object", "properties": fields, "required": list(required)}


def schema_of_model(model: type[object]) -> Schema:
    """Return the schema of a model or dataclass as it is written down, with every reference replaced by its schema."""
    whole = TypeAdapter(model).json_schema(mode="serialization")
    made: Schema = _inline_references(whole, whole.get("$defs", {}))
    return made


def name_schema(name: str, what: str, body: Schema) -> dict[str, Schema]:
    """Return a schema by its name, of objects that give it as `schema`; `what` names the verbs that print them."""
    own = object_of({"schema": {"const": name}})
    return {name: {"$schema": DIALECT, "title": name, "description": what, **merge_objects(own, body, own)}}


def schema_of_document(kind: type[Document], what: str) -> dict[str, Schema]:
    """Return the schema of a document by its name; `what` names the verbs that print it."""
    name: str = kind.model_fields["schema_name"].default
    return {name: {"$schema": DIALECT, "title": name, **schema_of_model(kind), "description": what}}


def _inline_references(node: Any, known: Schema, is_table: bool = False) -> Any:  # noqa: ANN401
    if isinstance(node, list):
        return [_inline_references(one, known) for one in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _inline_references(known[node["$ref"].rpartition("/")[2]], known)
    kept = {}
    for name, value in node.items():
        kept[name] = _inline_references(value, known, name == "properties")
    if is_table:
        return kept
    is_closed = kept.get("additionalProperties") is False
    return {name: v for name, v in kept.items() if name not in _DROPPED and not (is_closed and v is False)}
