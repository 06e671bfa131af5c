"""The index of the field guide in a brief, within a budget of lines, and the search for the rest of it."""

from collections.abc import Sequence
from datetime import datetime

from orchestrator.domain.memory.entry import MAX_CLAIM_CHARS, MAX_SCOPE_CHARS, GuideEntry, RunNote
from orchestrator.domain.paths.globs import can_overlap
from orchestrator.domain.text.sanitization import to_one_line

_MAX_LINE_CHARS = 900
_MAX_NOTE_CHARS = 500
_NO_LIMIT = 10**9


def list_entries_in_scope(entries: Sequence[GuideEntry], paths: Sequence[str]) -> list[GuideEntry]:
    """Return the entries that are about any of these paths or globs, the most telling first; without paths all.

    Pinned ones come first, then those about these paths rather than about everything, then those that were used last.
    """
    fitting = [entry for entry in entries if _concerns(entry, paths)]
    fitting.sort(key=lambda entry: (entry.used_at or entry.added_at, entry.id), reverse=True)
    return sorted(fitting, key=lambda entry: (not entry.is_pinned, not entry.scope))


def _concerns(entry: GuideEntry, paths: Sequence[str]) -> bool:
    if not entry.scope or not paths:
        return True
    return any(can_overlap(entry.scope, path) for path in paths)


def format_index(
    entries: Sequence[GuideEntry], paths: Sequence[str], max_lines: int, now: datetime, max_chars: int = _NO_LIMIT
) -> str:
    """Return the entries in scope, a line each, and how many are left to the search: never more than `max_lines`.

    They have at most `max_chars` characters, the line of how many are left not counted.
    """
    fitting = list_entries_in_scope(entries, paths)
    if max_lines < 1 or not entries:
        return ""
    shown = fitting[:max_lines]
    if len(shown) < len(entries):
        shown = fitting[: max_lines - 1]
    lines = keep_first_lines([format_entry(entry, now) for entry in shown], max_chars)
    if len(lines) < len(entries):
        left = len(entries) - len(lines)
        lines.append(f"({left} more {'entry' if left == 1 else 'entries'}: `search_memory` finds them by their words)")
    return "\n".join(lines)


def format_entry(entry: GuideEntry, now: datetime) -> str:
    """Return an entry in one line: id, scope, claim, evidence, age, and what the harness noticed in it."""
    days = max(0, (now - entry.added_at).days)
    facts = [entry.evidence.label, f"{days} day{'' if days == 1 else 's'} old"]
    if entry.is_pinned:
        facts.append("pinned by a person")
    facts += entry.flags
    scope = to_one_line(entry.scope, MAX_SCOPE_CHARS) or "everywhere"
    claim = to_one_line(entry.claim, MAX_CLAIM_CHARS)
    return to_one_line(f"- {entry.id} [{scope}] {claim} ({'; '.join(facts)})", _MAX_LINE_CHARS)


def search_entries(entries: Sequence[GuideEntry], words: str, limit: int) -> list[GuideEntry]:
    """Return the entries in which all these words occur, in any case, those first that were used last."""
    wanted = words.casefold().split()
    found = []
    for entry in list_entries_in_scope(entries, ()):
        text = f"{entry.id} {entry.scope} {entry.claim}".casefold()
        if wanted and all(word in text for word in wanted):
            found.append(entry)
    return found[:limit]


def format_notes(notes: Sequence[RunNote], max_lines: int, max_chars: int = _NO_LIMIT) -> str:
    """Return the newest notes of a run, newest first, a line each: never more than `max_lines`.

    They have at most `max_chars` characters, the line of how many are older not counted.
    """
    if max_lines < 1:
        return ""
    shown = list(reversed(notes))[:max_lines]
    if len(shown) < len(notes):
        shown = shown[: max_lines - 1]
    lines = [to_one_line(f"- {note.kind} ({note.task}): {note.text}", _MAX_NOTE_CHARS) for note in shown]
    lines = keep_first_lines(lines, max_chars)
    if len(lines) < len(notes):
        lines.append(f"({len(notes) - len(lines)} older ones: `recall` finds them)")
    return "\n".join(lines)


def keep_first_lines(lines: Sequence[str], max_chars: int) -> list[str]:
    """Return the first lines that have at most so many characters together."""
    kept = list[str]()
    for line in lines:
        max_chars -= len(line) + 1
        if max_chars < 0:
            break
        kept.append(line)
    return kept
