"""Changed files and the findings on them, in few words."""

from collections.abc import Sequence

from orchestrator.judge.files.changed_file import AddedLine, ChangedFile, DiffHunk
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.rules.registry import check_change

Text = bytes | str | None


def changed(path: str, before: Text, after: Text, old: str = "100644", new: str = "100644") -> ChangedFile:
    """A file with what it held and holds; None where it does not exist."""
    was, now = (text.encode() if isinstance(text, str) else text for text in (before, after))
    return ChangedFile(path, was, now, old_mode=None if was is None else old, new_mode=None if now is None else new)


def added(path: str, text: str) -> list[AddedLine]:
    """All lines of a text, as added to a file."""
    return [AddedLine(path, number, line) for number, line in enumerate(text.split("\n"), start=1)]


def findings(
    rule: str,
    *files: ChangedFile,
    grants: Sequence[str] = (),
    lines: Sequence[AddedLine] = (),
    hunks: Sequence[DiffHunk] = (),
) -> list[tuple[bool, str]]:
    """What one rule says of a change: whether it blocks, and its words."""
    found = check_change(ChangeFacts(files, lines, hunks, grants=grants))
    return [(finding.is_blocking, finding.text) for finding in found if finding.rule == rule]


def red(rule: str, *files: ChangedFile, grants: Sequence[str] = (), lines: Sequence[AddedLine] = ()) -> list[str]:
    """The words with which a rule blocks."""
    return [text for is_blocking, text in findings(rule, *files, grants=grants, lines=lines) if is_blocking]


def told(rule: str, *files: ChangedFile, grants: Sequence[str] = (), hunks: Sequence[DiffHunk] = ()) -> list[str]:
    """What a rule only tells."""
    return [text for is_blocking, text in findings(rule, *files, grants=grants, hunks=hunks) if not is_blocking]
