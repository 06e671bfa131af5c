"""A run's state as it was at some event, kept beside the journal: a cache, so that a long journal opens at once.

A snapshot counts only for the very journal it was taken of (it names the sum of its last event) and for the very code
that folds (it names a digest of the domain's sources). Whatever is missing, damaged or alien is derived anew.
It is written field by field and in pieces, so that a thread that writes it never holds the others up for long.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from functools import cache
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, get_type_hints

import pydantic
from pydantic import TypeAdapter, ValidationError

from orchestrator import domain
from orchestrator.domain.event import UnknownEventError, format_event_body, parse_event
from orchestrator.domain.hosts.table import HostTable
from orchestrator.domain.run.goal_state import GoalState
from orchestrator.domain.run.migration_state import MigrationState
from orchestrator.domain.run.spend_state import SpendState
from orchestrator.domain.run.state import RunState
from worktrees.durable_files import replace_durably

SNAPSHOT_FILE = "snapshot.jsonl"
_PIECE = 500
_PARTS = {"goal": GoalState, "migration": MigrationState, "spend": SpendState, "hosts": HostTable}


def copy_state(state: RunState) -> RunState:
    """Return a copy that does not change when the state goes on; what it holds is immutable."""
    parts = {name: _copy_part(getattr(state, name)) for name in _PARTS}
    copied: RunState = replace(_copy_part(state), **parts)
    return copied


def _copy_part(part: Any) -> Any:  # noqa: ANN401
    grown: dict[str, Any] = {
        field.name: value.copy()
        for field in fields(part)
        if isinstance(value := getattr(part, field.name), dict | list | Counter)
    }
    return replace(part, **grown)


def save_snapshot(directory: Path, state: RunState, total: bytes) -> None:
    """Keep a state that nobody changes any more; `total` is the sum of its last event.

    Raises:
        OSError: it could not be written.
    """
    digest = blake2b()
    with replace_durably(directory / SNAPSHOT_FILE) as file:
        for line in _format_lines(state):
            digest.update(line)
            file.write(line)
        seal = [state.seq, total.hex(), compute_code_digest(), digest.hexdigest()]
        file.write(json.dumps(seal).encode() + b"\n")


def load_snapshot(directory: Path) -> tuple[RunState, bytes] | None:
    """Return the kept state and the sum of its last event; None if there is none that this program would have made."""
    try:
        lines = (directory / SNAPSHOT_FILE).read_bytes().splitlines(keepends=True)
        seq, total, code, digest = json.loads(lines.pop())
        if code != compute_code_digest() or blake2b(b"".join(lines)).hexdigest() != digest:
            return None
        state, last_sum = _parse_state(lines), bytes.fromhex(total)
    except (OSError, ValueError, IndexError, TypeError, ValidationError, UnknownEventError):
        return None
    if state.seq == seq:
        return state, last_sum
    return None


@cache
def compute_code_digest() -> str:
    """Return a digest of everything that decides what events fold to."""
    digest = blake2b(f"{pydantic.VERSION}\n".encode(), digest_size=16)
    root = Path(domain.__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root)}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


@cache
def _build_adapters() -> dict[str, TypeAdapter[Any]]:
    """Return by path (`migration.files`) what reads and writes each field but `open_intents`, which has its own way."""
    adapters = _build_part_adapters(RunState, "")
    for name, part in _PARTS.items():
        adapters |= _build_part_adapters(part, f"{name}.")
    return adapters


def _build_part_adapters(part: type[Any], prefix: str) -> dict[str, TypeAdapter[Any]]:
    hints = get_type_hints(part, include_extras=True)
    names = [field.name for field in fields(part) if field.name not in ("open_intents", *_PARTS)]
    kept = [name for name in names if not name.startswith("_")]  # the others are derived from these
    return {prefix + name: TypeAdapter(hints[name]) for name in kept}


def _find_field(state: RunState, path: str) -> tuple[Any, str]:
    """Return the part of a state that holds a field, and the field's name."""
    part, _, name = path.rpartition(".")
    return (getattr(state, part) if part else state), name


def _format_lines(state: RunState) -> Iterator[bytes]:
    """Yield each field, long ones in pieces, as a line of its path and its JSON."""
    for path, adapter in _build_adapters().items():
        for piece in _split_value(getattr(*_find_field(state, path))):
            yield b"%b %b\n" % (path.encode(), adapter.dump_json(piece))
    for key, intent in state.open_intents.items():
        body = [key, intent.kind, intent.v, format_event_body(intent)]
        yield b"open_intents %b\n" % json.dumps(body).encode()


def _split_value(value: Any) -> Iterable[Any]:  # noqa: ANN401
    if isinstance(value, dict):
        items = iter(value.items())
        return (type(value)(piece) for piece in iter(lambda: dict(islice(items, _PIECE)), {}))
    if isinstance(value, list):
        return (value[start : start + _PIECE] for start in range(0, len(value), _PIECE))
    return (value,)


def _parse_state(lines: Iterable[bytes]) -> RunState:
    state = RunState()
    adapters = _build_adapters()
    for line in lines:
        path, _, text = line.partition(b" ")
        if path == b"open_intents":
            key, kind, version, body = json.loads(text)
            state.open_intents[key] = parse_event(kind, version, body)  # type: ignore[assignment]
            continue
        value = adapters[path.decode()].validate_json(text)
        part, field = _find_field(state, path.decode())
        grown = getattr(part, field)
        if isinstance(grown, dict):
            dict.update(grown, value)  # a Counter would add
        elif isinstance(grown, list):
            grown.extend(value)
        else:
            setattr(part, field, value)
    return state
