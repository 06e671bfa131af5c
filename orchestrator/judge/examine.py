"""All rules that look into a change: what it may not touch, what it may not do, and what is only told of it."""

from collections.abc import Iterable, Sequence

from orchestrator.judge.addressed import AddedLine, flagged
from orchestrator.judge.changed import ChangedFile
from orchestrator.judge.forgery import forgery_findings
from orchestrator.judge.protected import granter, protected_findings
from orchestrator.judge.rules import Finding


def examine(files: Sequence[ChangedFile], lines: Iterable[AddedLine], grants: Sequence[str]) -> tuple[Finding, ...]:
    """The findings on a change, blocking ones first. Blocks while sources are parsed.

    Args:
        files: every path that differs from the base.
        lines: the lines that were added.
        grants: globs of what the plan lets this task change although it is protected.
    """
    is_granted = granter(grants)
    return (
        *protected_findings(files, is_granted),
        *forgery_findings(files, is_granted),
        *flagged(lines, (file.path for file in files if not file.is_gone)),
    )
