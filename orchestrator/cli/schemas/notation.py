"""A short way to write JSON Schema down."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import BaseModel

from orchestrator.report.read_model import ReadModel

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
ANY: Schema = {}
FLAG: Schema = {"type": "boolean"}
NUMBER: Schema = {"type": "number"}
TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
_DROPPED = {"title", "default", "$defs"}


def or_null(one: Schema) -> Schema:
    """It, or null."""
    return {"anyOf": [one, {"type": "null"}]}


def list_of(one: Schema) -> Schema:
    """A list of it."""
    return {"type": "array", "items": one}


def table_of(one: Schema) -> Schema:
    """It under any names."""
    return {"type": "object", "additionalProperties": one}


def one_of(*them: str) -> Schema:
    """One of these."""
    return {"enum": list(them)}


def one_of_enum(kind: type[StrEnum]) -> Schema:
    """One word of these."""
    return one_of(*(one.value for one in kind))


def object_of(fields: Mapping[str, Schema], **rare: Schema) -> Schema:
    """An object that has all of these fields, and some of the `rare` ones."""
    return {"type": "object", "properties": {**fields, **rare}, "required": list(fields)}


def merge_objects(one: Schema, *others: Schema) -> Schema:
    """An object with the fields of all; a later one's stand for those of the same name before."""
    fields: dict[str, Schema] = dict(one["properties"])
    required = dict.fromkeys(one["required"])
    for other in others:
        fields |= other["properties"]
        required |= dict.fromkeys(other["required"])
    return {"type": "object", "properties": fields, "required": list(required)}


def select_fields(model: Schema, *names: str) -> Schema:
    """Only these fields of an object."""
    return object_of({name: model["properties"][name] for name in names})


def schema_of_model(model: type[BaseModel]) -> Schema:
    """What a model is written down as, with all that it refers to in its place."""
    whole = model.model_json_schema(mode="serialization")
    made: Schema = _inlined(whole, whole.get("$defs", {}))
    return made


def schema_of_read_model(model: type[ReadModel]) -> Schema:
    """Return the schema of a model whose objects say in `schema` what they are."""
    return merge_objects(schema_of_model(model), object_of({"schema": {"const": _get_schema_name(model)}}))


def name_read_model(what: str, model: type[ReadModel]) -> dict[str, Schema]:
    """Return the schema of a model by its name; `what` says who prints it."""
    return name_schema(_get_schema_name(model), what, schema_of_read_model(model))


def _get_schema_name(model: type[ReadModel]) -> str:
    return str(model.model_fields["schema_name"].default)


def name_schema(name: str, what: str, body: Schema) -> dict[str, Schema]:
    """A schema by its name, for objects that say so themselves; `what` says who prints it."""
    own = object_of({"schema": {"const": name}})
    return {name: {"$schema": DIALECT, "title": name, "description": what, **merge_objects(own, body)}}


def _inlined(node: Any, known: Mapping[str, Any], is_table: bool = False) -> Any:  # noqa: ANN401
    if isinstance(node, list):
        return [_inlined(one, known) for one in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _inlined(known[node["$ref"].rpartition("/")[2]], known)
    kept = {}
    for name, value in node.items():
        kept[name] = _inlined(value, known, name == "properties")
    if is_table:
        return kept
    is_closed = kept.get("additionalProperties") is False
    return {name: v for name, v in kept.items() if name not in _DROPPED and not (is_closed and v is False)}
