"""Whether what a verb printed is what its JSON Schema promises, and nothing beside it."""

from functools import cache
from typing import Any

from jsonschema import Draft202012Validator

from orchestrator.cli.schemas import SCHEMAS


def problems(value: Any, name: str | None = None) -> list[str]:
    """What of a printed object is not as its schema says; `name` for those that do not say which.

    A field that no schema knows is a problem here, though not for users: new ones belong into the document's model.
    """
    named = name or value.get("schema")
    if named not in SCHEMAS:
        return [f"no schema is named {named!r}"]
    return [f"{named} {error.json_path}: {error.message[:300]}" for error in _validator(named).iter_errors(value)]


@cache
def _validator(name: str) -> Draft202012Validator:
    Draft202012Validator.check_schema(SCHEMAS[name])
    is_open = name == "orchestrate.event/1"  # of which each kind has fields of its own
    return Draft202012Validator(SCHEMAS[name] if is_open else _closed(SCHEMAS[name]))


def _closed(node: Any) -> Any:
    """The schema without room for what it does not name."""
    if isinstance(node, list):
        return [_closed(one) for one in node]
    if not isinstance(node, dict):
        return node
    made = {name: _closed(value) for name, value in node.items()}
    return made | {"additionalProperties": False} if "properties" in node and "required" in node else made
