"""Python code that nobody can look into, because it is nested too deeply: the other rules would see nothing in it."""

from collections.abc import Callable, Iterator, Sequence

from orchestrator.domain.judging.verdict import Finding
from orchestrator.judge.files.changed_file import ChangedFile
from orchestrator.judge.source.python_syntax import MAX_TREE_DEPTH, is_too_deep


def check_unreadable_code(files: Sequence[ChangedFile], is_granted: Callable[[str], bool]) -> Iterator[Finding]:
    """A finding for each such file; it blocks unless the base's version was as deep, or the plan grants it. Blocks."""
    for file in files:
        if not file.is_python or file.after is None or not is_too_deep(file.after):
            continue
        is_deeper, granted = file.before is None or not is_too_deep(file.before), is_granted(file.path)
        is_new = is_deeper and not granted
        text = f"{file.path} is nested more than {MAX_TREE_DEPTH} levels deep, so no rule can look into it"
        if is_new:
            told = f"{text}: write it flatter"
        else:
            told = text
        yield Finding(rule="unreadable", text=told, is_blocking=is_new, is_granted=is_deeper and granted)
