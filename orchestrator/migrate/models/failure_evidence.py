"""Evidence against the changes that were made to a file so far, in words for whoever tries next."""

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
    """Return why the file could not land so far, newest first; empty if nothing has failed.

    That is reasons, failing tests, what the check printed, and what was found in earlier attempts of `task`.
    """
    parts = []
    if file.status.is_failed:
        parts.append(_describe_latest(file))
    ejections = [ejection for ejection in context.state.ejections if ejection.unit == UnitId(file.path)]
    for ejection in reversed(ejections[-_EJECTIONS:]):
        parts.append(await _describe_ejection(context, ejection))
    parts += _list_refusals(task)
    return "\n\n".join(filter(None, parts))


def _describe_latest(file: FileRecord) -> str:
    if not file.reason:
        return ""
    text = f"The latest change failed: {file.reason}"
    if file.signature:
        text += f"\nWhat it has in common with failures of its kind: {file.signature}"
    return text


async def _describe_ejection(context: RunContext, ejection: UnitEjected) -> str:
    difference = ejection.difference
    kinds = (
        ("tests that fail with the change and did not before", difference.new_failures),
        ("tests that are missing with the change", difference.missing_tests),
        ("tests that are skipped with the change", difference.newly_skipped),
        ("tests that say one thing in one run and another in the next", difference.unsettled),
        ("red only together with the changes of", tuple(map(str, ejection.partners))),
    )
    lines = [f"Found by the tests in {ejection.round}:", *difference.problems]
    for what, names in kinds:
        if names:
            lines.append(f"{what} ({len(names)}): {', '.join(names[:_TESTS])}")
    if printed := await _read_excerpt(context, ejection):
        lines += ["The check printed:", printed]
    return "\n".join(lines)


async def _read_excerpt(context: RunContext, ejection: UnitEjected) -> str:
    """Return the lines of the receipt that tell most; empty if there is none, or a damaged journal has lost it."""
    difference = ejection.difference
    if not ejection.receipts or ejection.receipts[-1] not in context.state.receipts:
        return ""
    with suppress(BlobLost):
        output = await context.journal.read_text(context.state.receipts[ejection.receipts[-1]].output)
        return extract_failure_excerpt(output, (*difference.lost_tests, *difference.unsettled))
    return ""


def _list_refusals(task: TaskState | None) -> Iterator[str]:
    for given in reversed(task.verdicts if task else ()):
        if given.verdict.kind != VerdictKind.MERGE and given.verdict.reasons:
            reasons = "\n".join(given.verdict.reasons)
            yield f"Found in the result of an earlier attempt:\n{reasons}"
