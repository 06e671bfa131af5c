"""Schemas of the lines of `logs --json`, which do not name their schema: a journal has very many."""

from orchestrator.cli.schemas.notation import DIALECT, TEXT, WHOLE, Schema, object_of, or_null

_EVENT = object_of({"seq": WHOLE, "at": TEXT, "kind": TEXT, "v": WHOLE})
_HIT = object_of(
    {
        "seq": WHOLE,
        "at": TEXT,
        "kind": TEXT,
        "task": or_null(TEXT),
        "session": or_null(TEXT),
        "turn": or_null(WHOLE),
        "snippet": TEXT,
    }
)


def _name_line_schema(name: str, what: str, body: Schema) -> dict[str, Schema]:
    return {name: {"$schema": DIALECT, "title": name, "description": what, **body}}


STREAM = {
    **_name_line_schema(
        "orchestrate.event/1", "each line of logs; the other fields are those of its kind and version", _EVENT
    ),
    **_name_line_schema("orchestrate.hit/1", "each line of logs --search", _HIT),
}
