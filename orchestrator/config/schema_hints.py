"""The values allowed at a place of a TOML file, read from the JSON Schema of its model, for error messages."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from orchestrator.domain.text.listing import add_lead
from orchestrator.domain.text.suggestions import suggest_names

Schema = Mapping[str, Any]

_PATTERNS = {r"\S": "a text that is not blank", "^[a-z0-9][a-z0-9-]*$": "lower-case letters, digits and hyphens"}
_KINDS = {
    "string": "a text in quotes",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "a table",
}
_BOUNDS = (
    ("minimum", "greater than or equal to"),
    ("exclusiveMinimum", "greater than"),
    ("maximum", "less than or equal to"),
    ("exclusiveMaximum", "less than"),
)


def find_schema_node(schema: Schema, key: Sequence[str | int]) -> Schema | None:
    """Return the part of the schema that describes the value at `key`; None if it has no such part."""
    node: Schema | None = _resolve_reference(schema, schema)
    for part in key:
        node = node and _find_child_node(schema, node, part)
    return node


def drop_definition_names(schema: Schema, key: Sequence[str | int]) -> tuple[str | int, ...]:
    """Return the key as the file has it: without the names of the models that a table may be one of."""
    names = schema.get("$defs", {})
    return tuple(part for part in key if part not in names)


def _find_child_node(schema: Schema, node: Schema, part: str | int) -> Schema | None:
    for option in node.get("oneOf", ()):
        if option.get("$ref") == f"#/$defs/{part}":
            return _resolve_reference(schema, option)
    for option in node.get("anyOf", (node,)):
        whole = _resolve_reference(schema, option)
        below = whole.get("items") if isinstance(part, int) else whole.get("properties", {}).get(part)
        if below is None and isinstance(part, str) and isinstance(whole.get("additionalProperties"), dict):
            below = whole["additionalProperties"]
        if below is not None:
            return _resolve_reference(schema, below)
    return None


def _resolve_reference(schema: Schema, node: Schema) -> Schema:
    """Return the node, or the definition that it refers to."""
    if "$ref" not in node:
        return node
    found: Schema = schema["$defs"][node["$ref"].rpartition("/")[2]]
    return found


def list_table_keys(schema: Schema, table: Sequence[str | int]) -> tuple[str, ...]:
    """Return the keys that a table may have, in the order of the model."""
    return tuple((find_schema_node(schema, table) or {}).get("properties", {}))


def suggest_known_keys(schema: Schema, key: Sequence[str | int]) -> str:
    """Return a hint to write instead of an unknown key: the nearest known one, and all that exist."""
    keys = list_table_keys(schema, key[:-1])
    if not keys:
        return ""
    question = add_lead("", suggest_names(str(key[-1]), keys, limit=1), " ")
    return f"; {question}Known here: {', '.join(keys)}"


def _describe_alternatives(schema: Schema, alternatives: Sequence[Schema]) -> str:
    others = filter(lambda alternative: alternative.get("type") != "null", alternatives)
    return " or ".join(filter(None, map(partial(describe_allowed_values, schema), others)))


def describe_allowed_values(schema: Schema, node: Schema) -> str:
    """Return in words the allowed values; empty where the schema does not say."""
    whole = _resolve_reference(schema, node)
    if "anyOf" in whole:
        return _describe_alternatives(schema, whole["anyOf"])
    if "const" in whole or "enum" in whole:
        return _join_alternatives(list(map(repr, whole.get("enum", [whole.get("const")]))))
    if whole.get("type") == "array":
        inner = describe_allowed_values(schema, whole.get("items", {}))
        text = "a list […]"
        if whole.get("minItems"):
            text += f" of {whole['minItems']} or more"
        if inner:
            text += f", each {inner}"
        return text
    if whole.get("format") == "date":
        return "a date such as 2026-12-31"
    if whole.get("pattern") in _PATTERNS:
        return _PATTERNS[whole["pattern"]]
    words = _KINDS.get(whole.get("type", ""), "")
    bounds = [f"{relation} {whole[name]}" for name, relation in _BOUNDS if name in whole]
    return " ".join(filter(None, (words, " and ".join(bounds))))


def _join_alternatives(values: Sequence[str]) -> str:
    if len(values) == 1:
        return values[0]
    return f"{', '.join(values[:-1])} or {values[-1]}"
