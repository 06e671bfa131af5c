"""The file of a field guide: its form as TOML, and what becomes of it when a run's changes come in."""

import json
import tomllib
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from orchestrator.domain.event.memory import GuideChanged
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import RunId
from orchestrator.domain.memory.entry import EntryRetirement, GuideEntry, RetirementCause
from orchestrator.memory.lifecycle import build_refresh

_HEAD = (
    "# What earlier runs of Orchestrate learnt about this repository, with the evidence: docs/memory.md",
    "# `orchestrate memory list|show|diff|drop|pin` reads and changes it.",
)
_MAX_ENDED = 500
"""So many ended entries are remembered, the newest: what was dropped does not come back by itself."""
_MAX_BYTES = 4 * 1024 * 1024


class GuideDocument(FrozenModel):
    """The whole of a field guide: the entries in force, and those that ended."""

    entries: tuple[GuideEntry, ...] = ()
    ended: tuple[EntryRetirement, ...] = ()

    def list_ended_ids(self) -> frozenset[str]:
        """Return the ids of the entries that ended."""
        return frozenset(one.entry for one in self.ended)


NO_GUIDE = GuideDocument()


def parse_guide(content: bytes) -> GuideDocument:
    """Return what a file holds.

    Raises:
        ValueError: it is no field guide, in words.
    """
    if len(content) > _MAX_BYTES:
        raise ValueError("it is too large")
    try:
        values = tomllib.loads(content.decode("utf-8"))
        return GuideDocument.model_validate_json(
            json.dumps({"entries": values.get("entry", []), "ended": values.get("ended", [])})
        )
    except (ValidationError, TypeError) as error:
        raise ValueError("an entry in it has another form") from error


def format_guide(guide: GuideDocument) -> bytes:
    """Return the file of a field guide: one table for each entry, ordered by id, so that changes are easy to read."""
    lines = list(_HEAD)
    for entry in sorted(guide.entries, key=lambda one: one.id):
        lines += ["", "[[entry]]", *_iterate_lines(entry.model_dump(mode="json", exclude_defaults=True))]
    for one in guide.ended:
        lines += ["", "[[ended]]", *_iterate_lines(one.model_dump(mode="json", exclude_defaults=True))]
    return ("\n".join(lines) + "\n").encode()


def _iterate_lines(values: Mapping[str, Any]) -> Iterator[str]:
    for key, value in values.items():
        if value is not None:
            yield f"{key} = {_format_value(value)}"


def _format_value(value: Any) -> str:  # noqa: ANN401
    """Return a value as TOML writes it in one line; strings are JSON's, with what TOML does not allow escaped."""
    if isinstance(value, Mapping):
        parts = [f"{key} = {_format_value(item)}" for key, item in value.items() if item is not None]
        return f"{{ {', '.join(parts)} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_format_value, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def apply_changes(
    guide: GuideDocument, run: RunId, changes: GuideChanged, now: datetime, limits: tuple[int, int]
) -> GuideDocument:
    """Return the guide with what a run stands for; applied twice it is the same as once.

    Entries of this run that it does not stand for any more go; what ended in the meantime does not come back.

    Args:
        guide: as it is now, with what other runs wrote.
        run: whose changes come in.
        changes: all that the run stands for.
        now: when the run began.
        limits: the days until an unused entry expires, and the most entries.
    """
    expire_days, max_entries = limits
    refresh, wanted = build_refresh(now, expire_days), {entry.id for entry in changes.added}
    ended, entries = dict[str, EntryRetirement](), dict[str, GuideEntry]()
    for one in guide.ended:
        if not (one.run == run and one.cause == RetirementCause.LEFT_BEHIND and one.entry in wanted):
            ended[one.entry] = one
    for entry in guide.entries:
        if entry.author.run == run and entry.id not in wanted and not entry.is_pinned:
            ended[entry.id] = EntryRetirement(entry=entry.id, cause=RetirementCause.LEFT_BEHIND, at=now, run=run)
            continue
        entries[entry.id] = refresh(entry) if entry.id in changes.used else entry
    for retirement in changes.retired:
        held = entries.get(retirement.entry)
        if held is not None and not held.is_pinned and not _is_renewed(held, retirement):
            del entries[retirement.entry]
            ended.setdefault(retirement.entry, retirement)
    for entry in changes.added:
        twin = _find_twin(entries, entry)
        if twin is not None and twin.id != entry.id:
            entries[twin.id] = refresh(twin)
        elif entry.id not in ended:
            entries.setdefault(entry.id, entry)
    _make_room(entries, ended, max_entries, now)
    return GuideDocument(entries=tuple(entries.values()), ended=tuple(ended.values())[-_MAX_ENDED:])


def merge_guides(guide: GuideDocument, other: GuideDocument) -> GuideDocument:
    """Return a guide with the entries and ends of another one; what ended in either has ended, unless it is pinned."""
    entries = {entry.id: entry for entry in (*other.entries, *guide.entries)}
    ended = {one.entry: one for one in (*other.ended, *guide.ended)}
    for name in ended:
        if name in entries and not entries[name].is_pinned:
            del entries[name]
    return GuideDocument(entries=tuple(entries.values()), ended=tuple(ended.values())[-_MAX_ENDED:])


def _is_renewed(entry: GuideEntry, retirement: EntryRetirement) -> bool:
    """Return True if another run used an expired entry while this one was on its way."""
    return retirement.cause == RetirementCause.EXPIRED and entry.expires_at > retirement.at


def _find_twin(entries: Mapping[str, GuideEntry], wanted: GuideEntry) -> GuideEntry | None:
    for entry in entries.values():
        if (entry.claim, entry.scope) == (wanted.claim, wanted.scope):
            return entry
    return None


def _make_room(
    entries: dict[str, GuideEntry], ended: dict[str, EntryRetirement], max_entries: int, now: datetime
) -> None:
    """End the entries that were used longest ago while there are too many; never a pinned one."""
    by_use = sorted(entries.values(), key=lambda entry: (entry.used_at or entry.added_at, entry.id))
    for entry in by_use:
        if len(entries) <= max_entries:
            return
        if not entry.is_pinned:
            del entries[entry.id]
            ended[entry.id] = EntryRetirement(entry=entry.id, cause=RetirementCause.NO_ROOM, at=now)
