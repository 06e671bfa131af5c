"""The checks that verdicts on a task rest on, before and after its change: those that fail come first."""

from collections.abc import Iterator, Sequence

from orchestrator.domain.judging.check import Difference, Receipt, ReceiptStatus
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.task.receipt import CheckLog, ReadBlob, find_difference, render_receipt_lines

Styled = tuple[str, str]
"""A line and the name of its style."""


def copy_state_for_receipts(state: RunState, receipts: Sequence[Receipt]) -> RunState:
    """Copy as much of a run's state as its receipts need, for a thread to read."""
    keys = {*state.baseline, *(receipt.key for receipt in receipts)}
    found = {}
    for key in keys:
        if key in state.receipts:
            found[key] = state.receipts[key]
    baseline = tuple(key for key in state.baseline if key in found)
    return RunState(started=state.started, receipts=found, baseline=baseline)


def render_check_lines(
    state: RunState, receipts: Sequence[Receipt], log: CheckLog, read_blob: ReadBlob
) -> Iterator[Styled]:
    """Yield a line of counts before and after for each receipt, then each with its output; red ones come first."""
    results = []
    for receipt in receipts:
        results.append((not is_red(receipt, find_difference(state, receipt, log, read_blob)), receipt))
    results.sort(key=lambda result: result[0])
    baseline = state.get_baseline_receipts()
    for is_green, receipt in results:
        purpose = to_one_line(log.purposes.get(receipt.key, "")) or receipt.check
        counts = _format_counts(receipt)
        before = baseline.get(receipt.check)
        if before is not None and before.key != receipt.key:
            counts = f"before {_format_counts(before)}, now {counts}"
        if is_green:
            yield f"green  {counts}  {purpose}", "good"
        else:
            yield f"red    {counts}  {purpose}", "bad"
    for is_green, receipt in results:
        yield "", ""
        for line in render_receipt_lines(receipt, state, log, read_blob):
            yield line, _style(line, not is_green)


def is_red(receipt: Receipt, difference: Difference | None) -> bool:
    """Return True if a check lost something against the base; without a base, if it failed at all."""
    if difference is not None:
        return not difference.is_green
    return receipt.status != ReceiptStatus.COMPLETED or receipt.exit_code != 0


def _format_counts(receipt: Receipt) -> str:
    counts = receipt.counts
    if receipt.tests is None:
        return f"exit {receipt.exit_code}"
    return f"{counts.passed} passed {counts.failed + counts.errors} failed"


def _style(line: str, is_red: bool) -> str:
    if line.startswith("receipt "):
        return "title"
    if line.startswith(("  fails now", "  missing", "  problem")):
        return "bad"
    if line.startswith("  |") and not is_red:
        return "dim"
    return ""
