"""Render a receipt: the command, its tree and purpose, its difference to the base, and how to run it again."""

import json
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import ClassVar

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.run import CheckStarted, FlakesSeen
from orchestrator.domain.judging.check import (
    CANARY_CHECK,
    GATE_VARIANTS,
    MUTANTS_CHECK,
    Difference,
    Outcomes,
    Receipt,
    ReceiptStatus,
    TestOutcome,
)
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.text.blob_text import Text
from orchestrator.domain.text.listing import add_lead, join_limited
from orchestrator.domain.text.sanitization import strip_controls, to_one_line
from orchestrator.domain.text.truncation import truncate_text
from orchestrator.judge.gate.difference import compare_outcomes
from orchestrator.report.hosts.attempts import describe_check_host

_OUTPUT_CHARS = 4_000
_SAID_CHARS = 8_000
_SHOWN = 12
ReadBlob = Callable[[str], bytes]
Key = tuple[str, str]
"""A check's name with a tree."""


class CheckLog:
    """Watches a journal go by for what receipts do not hold: what each was made for, and tests seen both ways."""

    KINDS: ClassVar = ("check.started", "flakes.seen")

    def __init__(self) -> None:
        self.purposes: dict[str, str] = {}
        self.flaky: dict[Key, tuple[str, ...]] = {}

    def record_events(self, events: Iterable[RecordedEvent]) -> None:
        """Take in events, of which only those of `KINDS` matter."""
        for recorded in events:
            event = recorded.event
            if isinstance(event, CheckStarted):
                self.purposes[event.key] = event.purpose
            elif isinstance(event, FlakesSeen):
                key = (event.check, event.tree)
                self.flaky[key] = tuple(sorted({*self.flaky.get(key, ()), *event.flaky}))


def iterate_receipt_keys(task: TaskState) -> Iterator[str]:
    """Yield the keys of the receipts that verdicts on a task and its ejections rest on, in order."""
    for given in task.verdicts:
        yield from given.verdict.receipts
    for ejection in task.ejections:
        yield from ejection.receipts


def find_difference(state: RunState, receipt: Receipt, log: CheckLog, read_blob: ReadBlob) -> Difference | None:
    """Return what a receipt's tests lost against the base; None without a baseline or without outcomes."""
    baseline = state.get_baseline_receipts().get(receipt.check)
    if baseline is None or baseline.key == receipt.key:
        return None
    before, now = read_outcomes(baseline, read_blob), read_outcomes(receipt, read_blob)
    if before is None or now is None:
        return None
    found = compare_outcomes(before, baseline.exit_code, now, receipt.exit_code)
    return found.model_copy(update={"flaky": log.flaky.get((receipt.check, receipt.tree), ())})


def read_outcomes(receipt: Receipt, read_blob: ReadBlob) -> Outcomes | None:
    """Return the outcomes by test id; None if there are none, or they cannot be read any more."""
    if receipt.tests is None:
        return None
    try:
        stored: Mapping[str, str] = json.loads(read_blob(receipt.tests))
    except ValueError:
        return None
    return {test: TestOutcome(outcome) for test, outcome in stored.items()}


def render_receipt_lines(receipt: Receipt, state: RunState, log: CheckLog, read_blob: ReadBlob) -> Iterator[str]:
    """Yield the receipt in lines, each list and text bounded."""
    yield f"receipt {receipt.key}"
    if purpose := log.purposes.get(receipt.key):
        yield f"  for {to_one_line(purpose)}"
    yield f"  $ {quote_text(receipt.command)}"
    if how := GATE_VARIANTS.get(receipt.kind):
        yield f"  {how}"
    ending = f"completed, {receipt.ending_text}" if receipt.status == ReceiptStatus.COMPLETED else receipt.ending_text
    yield f"  {ending}, {receipt.seconds:.1f} s, tree {receipt.tree[:12]}{describe_check_host(state, receipt.key)}"
    yield f"  environment {receipt.environment[:12]}{add_lead(', command line ', receipt.argv[:12])}"
    if receipt.world is not None:
        yield f"  as {to_one_line(receipt.world.description)}"
    if receipt.tests is not None:
        yield f"  {receipt.outcome_text}"
    if receipt.problem:
        yield f"  its report: {quote_text(receipt.problem)}"
    if difference := find_difference(state, receipt, log, read_blob):
        yield from render_difference_lines(difference)
    output = strip_controls(truncate_text(_read_text(receipt.output, read_blob), _OUTPUT_CHARS).text)
    yield from (f"  | {line}" for line in output.splitlines())
    if line := build_rerun_command(receipt):
        yield f"  again: {line}"


def render_difference_lines(difference: Difference) -> Iterator[str]:
    """Yield what differs from the base, kind by kind, or one line that nothing does."""
    kinds = {
        "fails now": difference.new_failures,
        "missing": difference.missing_tests,
        "skipped now": difference.newly_skipped,
        "fixed": difference.fixed,
        "seen both ways": difference.flaky,
    }
    if not any(kinds.values()) and not difference.problems:
        yield "  against the base: no test differs"
    for what, tests in kinds.items():
        if tests:
            yield f"  {what} ({len(tests)}): {join_limited(map(to_one_line, tests), _SHOWN)}"
    for problem in difference.problems[:_SHOWN]:
        yield f"  problem: {quote_text(problem)}"


def build_rerun_command(receipt: Receipt) -> str | None:
    """Return a shell line that runs the check on a copy of its tree, in the repository and without a sandbox.

    None for canaries and mutants, which the harness alone can plant.
    """
    if receipt.kind in {CANARY_CHECK, MUTANTS_CHECK}:
        return None
    command = receipt.command.replace("{report}", "report.xml")
    top = 'cd "$(git rev-parse --show-toplevel)" && d=$(mktemp -d) && export GIT_INDEX_FILE="$d/index"'
    copy = f'git read-tree {receipt.tree} && git checkout-index -a --prefix="$d/tree/" && unset GIT_INDEX_FILE'
    return f'({top} && {copy} && cd "$d/tree" && "$(command -v bash || echo sh)" -c {_quote_shell_word(command)})'


def _quote_shell_word(text: str) -> str:
    """Quote the text as one shell word, in one line and with printable characters only."""
    if text.isprintable():
        return shlex.quote(text)
    octal = "".join(chr(byte) if byte in _PLAIN else f"\\0{byte:03o}" for byte in text.encode("utf-8", "replace"))
    return f"\"$(printf '%b' '{octal}')\""


_PLAIN = frozenset(range(0x20, 0x7F)) - set(b"'\\")


def quote_text(text: str) -> str:
    """Return an agent's or command's text, bounded and indented, so that none of its lines can pass for ours."""
    lines = strip_controls(truncate_text(text, _SAID_CHARS).text).splitlines()
    return "\n        ".join(lines)


def _read_text(text: Text, read_blob: ReadBlob) -> str:
    if text.sha is None:
        return text.head
    return read_blob(text.sha).decode("utf-8", "replace")
