"""All rules that look into a change: what it may not touch, what it may not do, and what is only told of it."""

from collections.abc import Collection, Iterable, Sequence

from orchestrator.domain.verdict import Finding
from orchestrator.judge.addressed import AddedLine, flagged
from orchestrator.judge.changed import ChangedFile, DiffHunk
from orchestrator.judge.credentials import credential_findings
from orchestrator.judge.file_kinds import kind_findings
from orchestrator.judge.forgery import forgery_findings
from orchestrator.judge.identifiers import identifier_findings
from orchestrator.judge.layout import layout_findings
from orchestrator.judge.protected import granter, protected_findings
from orchestrator.judge.readable import unreadable_findings
from orchestrator.judge.rules import few
from orchestrator.judge.suppressions import suppression_findings
from orchestrator.judge.weakened import weakened_tests


def examine(
    files: Sequence[ChangedFile],
    lines: Iterable[AddedLine],
    grants: Sequence[str],
    hunks: Sequence[DiffHunk] = (),
    gate_files: Collection[str] = (),
) -> tuple[Finding, ...]:
    """The findings on a change, those that may block first. Blocks while sources are parsed.

    Args:
        files: every path that differs from the base.
        lines: the lines that were added.
        grants: globs of what the plan lets this task change although it is protected.
        hunks: lines that were taken out and put in together.
        gate_files: the folded paths of what the gate's commands name.
    """
    is_granted, lines = granter(grants), tuple(lines)
    found = (
        *protected_findings(files, is_granted, gate_files),
        *forgery_findings(files, is_granted),
        *unreadable_findings(files, is_granted),
        *suppression_findings(files, is_granted),
        *credential_findings(files, lines, is_granted),
        *weakened_tests(files, is_granted),
        *identifier_findings(files),
        *kind_findings(files),
        *layout_findings(files, hunks),
    )
    return (*few(found), *flagged(lines, (file.path for file in files if not file.is_gone)))
