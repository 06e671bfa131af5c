"""The contract as data and as lines: each criterion, whether it is met, and what shows it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from orchestrator.domain.judging.check import Receipt
from orchestrator.domain.run.criterion_status import list_criterion_statuses
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.task.receipt import quote_text

_CHARS = 300
_MARKS = {True: "✓", False: "✗", None: "·"}


def build_contract(state: RunState) -> list[dict[str, Any]]:
    """Each criterion; `met` is None before the first verdict. The exit codes are of its command, where it has one."""
    return [
        {
            **one.criterion.model_dump(mode="json"),
            "met": one.finding.met if one.finding else None,
            "evidence": one.finding.evidence if one.finding else "",
            "receipt": one.finding.receipt if one.finding else "",
            "exit_on_base": _exit(one.before),
            "exit": _exit(one.after) if one.criterion.command else None,
        }
        for one in list_criterion_statuses(state)
    ]


def iterate_contract_receipts(state: RunState) -> Iterator[str]:
    """The keys of the receipts that the verdicts on the contract rest on, the oldest first."""
    for given in state.iterations:
        for finding in given.findings:
            if finding.receipt:
                yield finding.receipt


def render_iteration_lines(state: RunState) -> Iterator[str]:
    """Each verdict on the contract with its reasons, then what the newest one says of each criterion."""
    for number, given in enumerate(state.iterations, start=1):
        yield f"iteration {number}: {given.decision}"
        for reason in given.reasons:
            yield f"  {quote_text(reason)}"
    yield from render_contract_lines(build_contract(state))


def _exit(receipt: Receipt | None) -> int | None:
    if receipt:
        return receipt.exit_code
    return None


def render_contract_lines(criteria: Iterable[Mapping[str, Any]], only_unmet: bool = False) -> Iterator[str]:
    """A line for how many are met, and one for each; what `contract_object` gives goes in."""
    criteria = list(criteria)
    if not criteria:
        return
    judged = [one for one in criteria if one["met"] is not None]
    met = sum(one["met"] for one in judged)
    yield f"contract: {met} of {len(criteria)} criteria met" if judged else f"contract: {len(criteria)} criteria"
    for one in criteria:
        if not (only_unmet and one["met"]):
            if one["evidence"]:
                evidence = f" – {to_one_line(one['evidence'], _CHARS)}"
            else:
                evidence = ""
            yield f"  {_MARKS[one['met']]} {one['id']}: {to_one_line(one['text'], _CHARS)}{evidence}"
