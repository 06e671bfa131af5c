"""Parts of a change that say nothing new: other white space, other line ends, other quotes."""

from collections.abc import Iterator, Sequence

from orchestrator.domain.judging.verdict import Finding
from orchestrator.judge.files.changed_file import ChangedFile, DiffHunk
from orchestrator.judge.rules.diff_summary import join_first_items

_QUOTES = str.maketrans({"'": '"'})


def check_formatting_only(files: Sequence[ChangedFile], hunks: Sequence[DiffHunk]) -> Iterator[Finding]:
    """A finding for each file with hunks that only lay out anew what stood there; it names their lines."""
    by_path: dict[str, list[DiffHunk]] = {}
    for hunk in hunks:
        by_path.setdefault(hunk.path, []).append(hunk)
    flipped = set()
    for file in files:
        if _has_other_ends(file):
            flipped.add(file.path)
    for path, its in by_path.items():
        idle = [hunk for hunk in its if _says_the_same(hunk)]
        if path in flipped:
            yield _finding(f"{path} has other line ends than on the base")
        elif idle:
            where = join_first_items([str(hunk.line) for hunk in idle], ", ", shown=5)
            if len(idle) == len(its):
                which = "all it changes"
            else:
                which = f"{len(idle)} of {len(its)} hunks"
            yield _finding(f"{path}: {which} differs only in white space or quotes (line {where})")


def _finding(text: str) -> Finding:
    return Finding(rule="layout", text=text, is_blocking=False)


def _has_other_ends(file: ChangedFile) -> bool:
    return bool(file.before and file.after) and _ends(file.before or b"") != _ends(file.after or b"")


def _ends(content: bytes) -> bool | None:
    """Whether most lines end as on Windows; None where there is no line."""
    lines = content.count(b"\n")
    if lines:
        return content.count(b"\r\n") * 2 > lines
    return None


def _says_the_same(hunk: DiffHunk) -> bool:
    """How deep a line stands may matter, so it counts; tabs count as eight columns."""
    return _said(hunk.removed) == _said(hunk.added)


def _said(lines: Sequence[str]) -> list[tuple[int, list[str]]]:
    plain = (line.expandtabs(8).rstrip().translate(_QUOTES) for line in lines)
    return [(len(line) - len(line.lstrip()), line.split()) for line in plain if line]
