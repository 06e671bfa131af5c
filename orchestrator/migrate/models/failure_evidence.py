"""What speaks against the changes that were made to a file so far, in words for whoever tries next."""

from collections.abc import Iterator
from contextlib import suppress

from orchestrator.domain.event.landing import UnitEjected
from orchestrator.domain.ids import UnitId
from orchestrator.domain.judging.verdict import VerdictKind
from orchestrator.domain.migration.files import FileRecord
from orchestrator.domain.run.state import TaskState
from orchestrator.engine.context import RunContext
from orchestrator.errors import BlobLost
from orchestrator.judge.reports.failure_signature import extract_failure_excerpt

_TESTS = 20
_EJECTIONS = 6
"""Of very many failed tries the newest are told."""


async def render_failures(context: RunContext, file: FileRecord, task: TaskState | None) -> str:
    """Why the file could not land so far, newest first: reasons, failing tests, what the check printed, and what was
    found in earlier attempts of `task`; empty if nothing has failed.
    """
    parts = [_latest(file)] if file.status.is_failed else []
    ejections = []
    for one in context.state.ejections:
        if one.unit == UnitId(file.path):
            ejections.append(one)
    parts += [await _ejected(context, one) for one in reversed(ejections[-_EJECTIONS:])]
    parts += _refused(task)
    return "\n\n".join(part for part in parts if part)


def _latest(file: FileRecord) -> str:
    if file.signature:
        alike = f"\nWhat it has in common with failures of its kind: {file.signature}"
    else:
        alike = ""
    if file.reason:
        return f"The latest change failed: {file.reason}{alike}"
    return ""


async def _ejected(context: RunContext, ejection: UnitEjected) -> str:
    difference = ejection.difference
    kinds = (
        ("tests that fail with the change and did not before", difference.new_failures),
        ("tests that are missing with the change", difference.missing_tests),
        ("tests that are skipped with the change", difference.newly_skipped),
        ("tests that say one thing in one run and another in the next", difference.unsettled),
        ("red only together with the changes of", tuple(map(str, ejection.partners))),
    )
    lines = [f"Found by the tests in {ejection.round}:", *difference.problems]
    lines += [f"{what} ({len(names)}): {', '.join(names[:_TESTS])}" for what, names in kinds if names]
    printed = await _printed(context, ejection)
    return "\n".join([*lines, *(["The check printed:", printed] if printed else [])])


async def _printed(context: RunContext, ejection: UnitEjected) -> str:
    """The lines of the receipt that tell most; empty if there is none, or a damaged journal has lost it."""
    difference = ejection.difference
    if not ejection.receipts or ejection.receipts[-1] not in context.state.receipts:
        return ""
    named = (*difference.new_failures, *difference.missing_tests, *difference.newly_skipped, *difference.unsettled)
    with suppress(BlobLost):
        output = await context.journal.read_text(context.state.receipts[ejection.receipts[-1]].output)
        return extract_failure_excerpt(output, named)
    return ""


def _refused(task: TaskState | None) -> Iterator[str]:
    for given in reversed(task.verdicts if task else ()):
        if given.verdict.kind != VerdictKind.MERGE and given.verdict.reasons:
            reasons = "\n".join(given.verdict.reasons)
            yield f"Found in the result of an earlier attempt:\n{reasons}"
