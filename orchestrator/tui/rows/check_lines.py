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
    told = [(receipt, find_difference(state, receipt, log, read_blob)) for receipt in receipts]
    told.sort(key=lambda one: not is_red(*one))
    before = state.get_baseline_receipts()
    for receipt, difference in told:
        if is_red(receipt, difference):
            words = "red  "
        else:
            words = "green"
        purpose = to_one_line(log.purposes.get(receipt.key, "")) or receipt.check
        was = before.get(receipt.check)
        if was is not None and was.key != receipt.key:
            base = f"before {_counts(was)}, now "
        else:
            base = ""
        yield f"{words}  {base}{_counts(receipt)}  {purpose}", "bad" if is_red(receipt, difference) else "good"
    for receipt, difference in told:
        yield "", ""
        for line in render_receipt_lines(receipt, state, log, read_blob):
            yield line, _style(line, is_red(receipt, difference))


def is_red(receipt: Receipt, difference: Difference | None) -> bool:
    """Return True if a check lost something against the base; without a base, if it failed at all."""
    if difference is not None:
        return not difference.is_green
    return receipt.status != ReceiptStatus.COMPLETED or receipt.exit_code != 0


def _counts(receipt: Receipt) -> str:
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
