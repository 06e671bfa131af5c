"""Markers of a merge conflict that were left in files: what stands between them was never decided."""

import re
from collections.abc import Iterator, Sequence

from orchestrator.domain.judging.verdict import Finding, RuleId
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.files.changed_file import AddedLine, ChangedFile, group_by_path
from orchestrator.judge.rules.change_facts import ChangeFacts
from worktrees.object_store.conflict_merge import BASE_LABEL, OURS_LABEL, THEIRS_LABEL

_KINDS = (compile_lazily(r"<{7,}( |$)"), compile_lazily(r"={7,}$"), compile_lazily(r">{7,}( |$)"))
"""The markers of a conflict, in the order in which they stand in a file."""
_OURS = compile_lazily(rf"(<{{7,}} {OURS_LABEL}|\|{{7,}} {BASE_LABEL}|>{{7,}} {THEIRS_LABEL})$")
"""The markers that the harness writes: each of them was left over, also alone."""
_BEFORE = compile_lazily(rb"^<{7,} .*?^={7,}\r?$.*?^>{7,} ", re.MULTILINE | re.DOTALL)


def check_conflict_markers(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each file in which the change left markers.

    Those that the harness wrote into a clash block, and no grant helps: nobody decided what stands between them. Others
    may be samples of a conflict, so they are told to reviewers; in files that held such before, they are not.
    """
    samples = {file.path for file in facts.files if _has_markers(file)}
    for path, lines in group_by_path(facts.lines).items():
        if (own := _find_own_marker(lines)) is not None:
            text = f"{_describe_marker(path, own)}: bring both sides together there and take all markers out"
            yield Finding(rule=RuleId.CONFLICT_MARKER, text=text, path=path, line=own.number, is_blocking=True)
        elif path not in samples and (other := _find_conflict(lines)) is not None:
            text = _describe_marker(path, other)
            yield Finding(rule=RuleId.CONFLICT_MARKER, text=text, path=path, line=other.number, is_blocking=False)


def _describe_marker(path: str, line: AddedLine) -> str:
    return f"{path}:{line.number} holds a marker of a merge conflict ({line.text[:40]!r})"


def _has_markers(file: ChangedFile) -> bool:
    return file.before is not None and _BEFORE.search(file.before) is not None


def _find_own_marker(lines: Sequence[AddedLine]) -> AddedLine | None:
    for line in lines:
        if _OURS.match(line.text.rstrip()):
            return line
    return None


def _find_conflict(lines: Sequence[AddedLine]) -> AddedLine | None:
    """Return the first line of a whole conflict: an opening, a dividing and a closing marker, in this order."""
    first, wanted = None, 0
    for line in lines:
        if _KINDS[wanted].match(line.text.rstrip("\r\n")):
            first, wanted = first or line, wanted + 1
        if wanted == len(_KINDS):
            return first
    return None
