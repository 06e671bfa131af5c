"""Python code that nobody can look into, because it is nested too deeply: the other rules would see nothing in it."""

from collections.abc import Callable, Iterator, Sequence

from orchestrator.judge.changed import ChangedFile
from orchestrator.judge.rules import Finding
from orchestrator.judge.syntax import DEEPEST, is_too_deep


def unreadable_findings(files: Sequence[ChangedFile], is_granted: Callable[[str], bool]) -> Iterator[Finding]:
    """A finding for each such file; it blocks unless the base's version was as deep, or the plan grants it. Blocks."""
    for file in files:
        if not file.is_python or file.after is None or not is_too_deep(file.after):
            continue
        is_new = not is_granted(file.path) and not (file.before is not None and is_too_deep(file.before))
        text = f"{file.path} is nested more than {DEEPEST} levels deep, so no rule can look into it"
        yield Finding(rule="unreadable", text=f"{text}: write it flatter" if is_new else text, is_blocking=is_new)
