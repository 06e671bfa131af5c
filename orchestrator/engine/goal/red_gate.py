"""Ask a person before a run works against a gate that is red on the base and tells only its exit code."""

from collections.abc import Iterator, Sequence

from orchestrator.domain.ids import RunId
from orchestrator.domain.judging.check import Receipt
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.approvals import ask_person, build_run_approval, format_answer
from orchestrator.engine.run_end import end_run
from orchestrator.judge.gate.baseline import is_red_without_tests
from orchestrator.judge.reports.failure_signature import extract_failure_excerpt

_MOST_LINES = 8


async def ask_about_red_gate(context: RunContext, receipts: Sequence[Receipt]) -> bool:
    """Return True if the work may begin by these receipts of the base; else end the run.

    Where a red gate names no tests, nothing can be told apart from what was red before, so that no change lands unless
    it makes the gate green. Whether that is what is wanted only a person knows, and the answer comes before any work.

    Raises:
        PersonNeeded: there is no answer yet.
    """
    red = list_silent_red_receipts(context, receipts)
    if not red:
        return True
    title = f"work although the gate is red on the base: `{red[0].command}` exits {red[0].exit_code}"
    output = await context.journal.read_text(red[0].output)
    detail = tuple(_list_ways_on(context.state.run.run, output))
    question = build_run_approval(context, "gate", red[0].check, title, detail)
    answer = await ask_person(context, question)
    if answer.decision == "approve":
        return True
    reason = f"the gate was red before anything changed, and {format_answer(answer)} did not want to go on with it"
    await end_run(context, "cancelled", f"{reason}; mend it or give another --gate, then begin a new run")
    return False


def list_silent_red_receipts(context: RunContext, receipts: Sequence[Receipt]) -> list[Receipt]:
    """Return the red receipts that name no tests and about which a person has to be asked."""
    if context.config.approval.red_gate == "go-on":
        return []
    return [receipt for receipt in receipts if is_red_without_tests(receipt)]


def _list_ways_on(run: RunId, output: str) -> Iterator[str]:
    """Yield what a person can do, then the first failure of what the gate printed."""
    yield "it tells no tests, so nothing lands unless it makes the gate exit 0; no worker has begun yet"
    yield "approve it if that is the goal; to be asked no more: --set approval.red_gate=go-on"
    yield (
        f"or go on with a gate that names tests: orchestrate resume {run} --set gate.report=junit (or tap, pytest-rA, "
        "unittest and others), or with another one: --set gate.command=COMMAND"
    )
    yield "or reject it, mend the base and begin a new run"
    for line in extract_failure_excerpt(output, ()).splitlines()[-_MOST_LINES:]:
        yield f"it printed: {to_one_line(line)}"
