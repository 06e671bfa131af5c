"""All rules that look into a change: what it may not touch, what it may not do, and what is only told of it."""

from collections.abc import Collection, Iterable, Sequence

from orchestrator.domain.judging.verdict import Finding
from orchestrator.judge.files.changed_file import ChangedFile, DiffHunk
from orchestrator.judge.rules.confusable_identifiers import check_confusable_identifiers
from orchestrator.judge.rules.credentials import check_credentials
from orchestrator.judge.rules.diff_summary import limit_flags
from orchestrator.judge.rules.forgery import check_forgery
from orchestrator.judge.rules.formatting_only import check_formatting_only
from orchestrator.judge.rules.prompt_injection import AddedLine, check_prompt_injection
from orchestrator.judge.rules.protected_files import build_grant_matcher, check_protected_files
from orchestrator.judge.rules.suppressions import check_suppressions
from orchestrator.judge.rules.unreadable_code import check_unreadable_code
from orchestrator.judge.rules.unusual_files import check_unusual_files
from orchestrator.judge.rules.weakened_assertions import check_weakened_assertions


def check_change(
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
    is_granted, lines = build_grant_matcher(grants), tuple(lines)
    found = (
        *check_protected_files(files, is_granted, gate_files),
        *check_forgery(files, is_granted),
        *check_unreadable_code(files, is_granted),
        *check_suppressions(files, is_granted),
        *check_credentials(files, lines, is_granted),
        *check_weakened_assertions(files, is_granted),
        *check_confusable_identifiers(files),
        *check_unusual_files(files),
        *check_formatting_only(files, hunks),
    )
    return (*limit_flags(found), *check_prompt_injection(lines, (file.path for file in files if not file.is_deleted)))
