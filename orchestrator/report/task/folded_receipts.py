"""Render many receipts for a person: those that are red in full, each other one in a line, canaries counted."""

from collections.abc import Container, Iterator, Sequence

from orchestrator.domain.judging.check import CANARY_CHECK, GATE_VARIANTS, Receipt, ReceiptStatus
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.listing import add_lead, format_count
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.hosts.attempts import describe_check_host
from orchestrator.report.task.receipt import CheckLog, ReadBlob, find_difference, read_outcomes, render_receipt_lines

_COMMAND_CHARS = 120


def render_folded_receipts(
    state: RunState, receipts: Sequence[Receipt], decisive: Container[str], log: CheckLog, read_blob: ReadBlob
) -> Iterator[str]:
    """Yield receipts that are red in full if their keys are `decisive`, all others in a line each."""
    folded, canaries, shown = [], 0, set()
    for receipt in receipts:
        if receipt.kind == CANARY_CHECK and is_as_expected(state, receipt, log, read_blob):
            canaries += receipt.counts.total
            continue
        repeat = (receipt.check, receipt.tree, receipt.outcome_text)
        is_repeat = repeat in shown
        shown.add(repeat)
        if receipt.key in decisive and not is_repeat and not is_as_expected(state, receipt, log, read_blob):
            yield ""
            yield from render_receipt_lines(receipt, state, log, read_blob)
        else:
            folded.append(_render_receipt_line(state, receipt, log, read_blob))
    if folded or canaries:
        yield ""
    yield from folded
    if canaries:
        yield f"✓ {format_count(canaries, 'canary test')} as expected"
    if folded or canaries:
        yield "--all shows every receipt with its output and a line that runs it again"


def is_as_expected(state: RunState, receipt: Receipt, log: CheckLog, read_blob: ReadBlob) -> bool:
    """Return True if a receipt speaks for its tree: nothing is lost against the base, or canaries ended as they must.

    The new tests of a change on its base speak neither for nor against it, and count as expected.
    """
    if receipt.kind == CANARY_CHECK:
        return _ended_as_on_base(state, receipt, read_blob)
    if receipt.kind in GATE_VARIANTS:
        return True
    difference = find_difference(state, receipt, log, read_blob)
    if difference is not None:
        return difference.is_green
    return receipt.status == ReceiptStatus.COMPLETED and receipt.exit_code == 0


def _ended_as_on_base(state: RunState, canaries: Receipt, read_blob: ReadBlob) -> bool:
    """Return True if each canary ended as on the base, where they were seen to behave before any was believed."""
    outcomes = read_outcomes(canaries, read_blob)
    for known in state.receipts.values():
        if outcomes and known.check == canaries.check and known.tree == state.run.base_tree:
            is_same_end = (known.status, known.exit_code) == (canaries.status, canaries.exit_code)
            if is_same_end and read_outcomes(known, read_blob) == outcomes:
                return True
    return False


def _render_receipt_line(state: RunState, receipt: Receipt, log: CheckLog, read_blob: ReadBlob) -> str:
    mark = "✗"
    if receipt.kind in GATE_VARIANTS:
        mark = "·"
    elif is_as_expected(state, receipt, log, read_blob):
        mark = "✓"
    purpose = add_lead(" for ", to_one_line(log.purposes.get(receipt.key, "")))
    command = to_one_line(receipt.command, _COMMAND_CHARS)
    where = describe_check_host(state, receipt.key)
    return f"{mark} {command}: {receipt.outcome_text} ({receipt.seconds:.1f} s{where}){purpose}"
