"""Parts of a change that say nothing new: other white space, other line ends, other quotes."""

from collections.abc import Iterator, Sequence

from orchestrator.domain.judging.rules import RuleId
from orchestrator.domain.judging.verdict import Finding
from orchestrator.domain.text.listing import join_limited
from orchestrator.judge.files.changed_file import ChangedFile, DiffHunk, group_by_path
from orchestrator.judge.rules.change_facts import ChangeFacts

_QUOTES = str.maketrans({"'": '"'})
_TAB_COLUMNS = 8


def check_formatting_only(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each file with hunks that only lay out anew what stood there; it names their lines."""
    files = {file.path: file for file in facts.files}
    for path, hunks in group_by_path(facts.hunks).items():
        file = files.get(path)
        if file is not None and _has_other_line_ends(file):
            text = f"{path} has other line ends than on the base"
            yield Finding(rule=RuleId.LAYOUT, text=text, path=path, is_blocking=False)
        else:
            yield from _check_hunks(path, hunks)


def _check_hunks(path: str, hunks: Sequence[DiffHunk]) -> Iterator[Finding]:
    lines = [hunk.line for hunk in hunks if _read_layout(hunk.removed) == _read_layout(hunk.added)]
    if not lines:
        return
    part = "all it changes" if len(lines) == len(hunks) else f"{len(lines)} of {len(hunks)} hunks"
    text = f"{path}: {part} differs only in white space or quotes (line {join_limited(lines, 5)})"
    yield Finding(rule=RuleId.LAYOUT, text=text, path=path, line=lines[0], is_blocking=False)


def _has_other_line_ends(file: ChangedFile) -> bool:
    if not file.before or not file.after:
        return False
    return _has_windows_ends(file.before) != _has_windows_ends(file.after)


def _has_windows_ends(content: bytes) -> bool | None:
    """Return True if most lines end as on Windows; None where there is no line."""
    lines = content.count(b"\n")
    if lines:
        return content.count(b"\r\n") * 2 > lines
    return None


def _read_layout(lines: Sequence[str]) -> list[tuple[int, list[str]]]:
    """Return indentation and words of each line that is not blank: how deep a line stands may matter."""
    layout = []
    for line in lines:
        plain = line.expandtabs(_TAB_COLUMNS).rstrip().translate(_QUOTES)
        if plain:
            layout.append((len(plain) - len(plain.lstrip()), plain.split()))
    return layout
