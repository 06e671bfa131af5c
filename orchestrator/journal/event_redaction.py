"""Redaction of events before anything is done with them: words are redacted, names of things are not.

The fold, resuming and replaying rest on identifiers, so these stay as they are; nothing that a command printed or a
person wrote is ever one. Known values go from everything else. What only looks like a token stays where a machine has
to act to the letter, and in what a model said: that was redacted before the model saw it, so a token there is made up.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from pydantic_core import PydanticSerializationError

from orchestrator.domain.event import Event, format_event_body, parse_event
from orchestrator.domain.event.work import ModelReplied, ToolCalled
from orchestrator.domain.text.encoding import make_value_encodable
from orchestrator.redact.redactor import Redactor

UNREDACTED_FIELDS = frozenset(
    {
        *("kind", "v", "key", "id", "item", "notification", "round", "task", "parent", "depends_on", "session"),
        *("continues", "call_id", "call", "run", "unit", "units", "receipt", "receipts", "subject", "check", "name"),
        *("disputed_entry", "replaces", "reconciles", "after", "rival_of", "chosen"),
        *(
            "lens",
            "rule",
            "code",
            "variant",
            "site",
            "owner",
            "cache_key",
            "word_ids",
            "withdrawn",
            "shard",
            "shards",
            "redo",
            "revision",
        ),
        *(
            "base",
            "base_tree",
            "start",
            "candidate",
            "landed",
            "commit",
            "tree",
            "blob",
            "mode",
            "tried",
            "old",
            "new",
            "tip",
            "object",
            "ref",
        ),
        *("sha", "argv", "tests", "policy", "prompt", "request", "environment", "signature", "version", "host"),
        *(
            "engine",
            "server",
            "digest",
            "branch",
            "target",
            "remote",
            "repository",
            "forge",
            "model",
            "pool",
            "step",
            "error",
            "finish_reason",
        ),
        *("partners", "group", "groups", "flag", "stands", "trace", "narrows", "restart_from", "kept"),
        *("user", "home", "temporary", "exchange", "objects"),  # of a world, drawn by us
        *("settings", "recipe"),  # a run works with them; that they hold no known value is seen to when it begins
    }
)
"""Keys of names that the program goes by."""
VERBATIM_FIELDS = frozenset(
    {
        *("command", "checks", "regenerate", "arguments", "path", "paths", "grants", "conflict", "purpose"),
        *("fixed", "missing_tests", "new_failures", "newly_skipped", "flaky", "unsettled", "test"),
        *("agent_session", "files", "symptoms", "seen", "verifier_failures", "verifier_tests"),
    }
)
"""Keys of what is run, opened or compared."""
_SAID = (ModelReplied, ToolCalled)
TextChange = Callable[[str], str]


def redact_event(event: Event, redactor: Redactor) -> Event:
    """Return the event as it may be kept; the same one if there is nothing to take out."""
    change = redactor.hide_known_secrets if isinstance(event, _SAID) else redactor.redact_text
    body = event.model_dump(mode="json", exclude={"kind", "v"}, exclude_defaults=True)
    words = "\0".join(_redact_words(body))
    if change(words) == words:
        return event
    changed = {}
    for key, value in body.items():
        changed[key] = _redact_value(key, value, change, redactor.hide_known_secrets)
    return parse_event(event.kind, event.v, json.dumps(changed))


def _redact_words(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in UNREDACTED_FIELDS:
                yield from _redact_words(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _redact_words(item)


def _redact_value(key: str, value: Any, change: TextChange, to_the_letter: TextChange) -> Any:  # noqa: ANN401
    if key in UNREDACTED_FIELDS:
        return value
    if isinstance(value, str):
        return (to_the_letter if key in VERBATIM_FIELDS else change)(value)
    if isinstance(value, dict):
        return {name: _redact_value(name, item, change, to_the_letter) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_redact_value(key, item, change, to_the_letter) for item in value]
    return value


def escape_surrogates(event: Event) -> Event:
    """Return the event as it will be read again: itself, or with its lone surrogates spelled out."""
    try:
        event.model_dump_json()
    except (PydanticSerializationError, UnicodeEncodeError):
        return parse_event(event.kind, event.v, json.dumps(make_value_encodable(json.loads(format_event_body(event)))))
    return event
