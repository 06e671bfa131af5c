"""Reports over what is in front: why a unit may land or not, what became of a shard. `esc` goes back."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import ClassVar

from anyio import to_thread
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from orchestrator.domain.event.landing import UnitEjected
from orchestrator.domain.event.work import VerdictGiven
from orchestrator.domain.ids import UnitId, build_landing_item, build_unit_id, parse_unit_id
from orchestrator.domain.judging.check import Receipt
from orchestrator.domain.judging.review import get_review_points
from orchestrator.domain.judging.verdict import LensVote
from orchestrator.domain.run.approval import DECISION_WORDS
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.text.listing import format_count
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.errors import JournalProblem
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.blobs import BlobStore
from orchestrator.report.migration.file_details import build_shard_details, render_shard_details
from orchestrator.report.rows.queue_rows import describe_ejection
from orchestrator.report.task.receipt import CheckLog, ReadBlob, quote_text, render_receipt_lines
from orchestrator.tui.run_feed.conversation_reader import read_kinds_into
from orchestrator.tui.view_model import ViewModel
from orchestrator.tui.widgets.drawing import Drawing
from orchestrator.tui.widgets.text_pager import LineList, TextPager


@dataclass(frozen=True)
class ReportContent:
    """A report: its title, the receipts that it rests on, and how its lines are made once their blobs are read."""

    title: str
    directory: RunDirectory
    receipts: Sequence[Receipt]
    build_lines: Callable[[CheckLog, ReadBlob], Iterator[str]]

    def read_evidence(self) -> tuple[CheckLog, Mapping[str, bytes]]:
        """Read what the journal says of checks, and the blobs; what cannot be read is left out."""
        log, blobs, store = CheckLog(), {}, BlobStore(self.directory.blobs)
        for receipt in self.receipts:
            for sha in filter(None, (receipt.tests, receipt.trace, receipt.output.sha)):
                with suppress(JournalProblem):
                    blobs[sha] = store.read_blob(sha)
        with suppress(JournalProblem):
            read_kinds_into(log, self.directory)
        return log, blobs


def build_unit_report(view_model: ViewModel, unit: str) -> ReportContent | None:
    """Build the reasons why a unit may land or not; None if the run does not know it any more."""
    state = view_model.state
    attempt = parse_unit_id(unit)
    if attempt is None or attempt.task not in state.tasks:
        return None
    task, number = state.tasks[attempt.task], attempt.number
    receipts = [*state.get_baseline_receipts().values(), *list_judged_receipts(state, task, number)]
    return ReportContent(
        f"judge's report on {unit}", view_model.directory, receipts, partial(render_judge_lines, state, task, number)
    )


def build_shard_report(view_model: ViewModel, name: str) -> ReportContent | None:
    """Build what became of a shard's files; None if the run does not know it any more."""
    state = view_model.state
    if name not in state.migration.shards:
        return None

    def build_lines(_log: CheckLog, _read_blob: ReadBlob) -> Iterator[str]:
        return render_shard_details(build_shard_details(state, state.migration.shards[name]))

    return ReportContent(f"shard {name}", view_model.directory, (), build_lines)


class ReportScreen(ModalScreen[None]):
    """One report. It is made once, from what was known when it was opened."""

    DEFAULT_CSS = """
    ReportScreen { align: center middle; }
    ReportScreen > Vertical { width: 92%; height: 90%; border: round $primary; background: $background; padding: 0 1; }
    ReportScreen.-narrow > Vertical { width: 100%; height: 100%; border: none; padding: 0; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "Back", show=False, id="report.back")]

    def __init__(self, content: ReportContent) -> None:
        super().__init__()
        self._content = content

    def compose(self) -> ComposeResult:
        """Build a title above a long text."""
        with Vertical():
            yield Drawing()
            yield TextPager(wrap=True, empty="reading the evidence")

    def on_mount(self) -> None:
        """Read the evidence."""
        title = [(self._content.title, "title"), ("   esc back  W fold  V select  y copy", "dim")]
        self.query_one(Drawing).show_rows([title])
        self.query_one(TextPager).focus()
        self.run_worker(self._make(), exit_on_error=False)

    async def _make(self) -> None:
        log, blobs = await to_thread.run_sync(self._content.read_evidence, abandon_on_cancel=True)
        lines: list[str] = []
        for line in self._content.build_lines(log, lambda sha: blobs.get(sha, b"")):
            lines += line.splitlines() or [""]
        self.query_one(TextPager).show_text(LineList(lines), at_end=False)


_POINT_CHARS = 200


def render_judge_lines(
    state: RunState, task: TaskState, number: int, log: CheckLog, read_blob: ReadBlob
) -> Iterator[str]:
    """Yield all findings on one attempt, the most important first.

    Args:
        state: the run's.
        task: whose attempt it is.
        number: the attempt's.
        log: what it knows of purposes and flaky tests is told as well.
        read_blob: outcomes and outputs are read by it; empty bytes stand for what cannot be read.
    """
    unit = build_unit_id(task.spec.id, number)
    given = next((one for one in reversed(task.verdicts) if one.number == number), None)
    ejection = next((one for one in reversed(task.ejections) if one.unit == unit), None)
    yield f"{unit}  {to_one_line(task.spec.title, _POINT_CHARS)}"
    yield from _candidate(task, number)
    yield ""
    yield from _verdict(given)
    yield from _person(state, unit)
    yield from _queue(state, unit, ejection)
    if given:
        for vote in given.verdict.votes:
            yield ""
            yield from _vote(task, vote)
    yield from _before(state)
    for receipt in list_judged_receipts(state, task, number):
        yield ""
        yield from render_receipt_lines(receipt, state, log, read_blob)


def list_judged_receipts(state: RunState, task: TaskState, number: int) -> list[Receipt]:
    """Return the receipts that the verdict and the ejection of an attempt rest on."""
    unit = build_unit_id(task.spec.id, number)
    lists = [given.verdict.receipts for given in task.verdicts if given.number == number]
    lists += [ejection.receipts for ejection in task.ejections if ejection.unit == unit]
    keys = chain.from_iterable(lists)
    return [state.receipts[key] for key in dict.fromkeys(keys) if key in state.receipts]


def _candidate(task: TaskState, number: int) -> Iterator[str]:
    taken = next((one for one in reversed(task.candidates) if one.number == number), None)
    if taken is None:
        yield "no candidate was taken of this attempt"
        return
    yield f"candidate {taken.commit[:12]}: {len(taken.paths)} files +{taken.added} -{taken.removed}"
    yield from _label_lines("flagged", taken.flagged)
    yield from _label_lines("left out", taken.dropped)


def _label_lines(label: str, texts: Iterable[str]) -> Iterator[str]:
    return (f"  {label}: {quote_text(text)}" for text in texts)


def _verdict(given: VerdictGiven | None) -> Iterator[str]:
    if given is None:
        yield "no verdict yet"
        return
    verdict = given.verdict
    yield "verdict: " + ", ".join(filter(None, (verdict.kind, verdict.cause)))
    yield from _label_lines("why", verdict.reasons)
    yield from _label_lines("flagged", verdict.flags)
    if verdict.kind != "merge":
        yield f"  next: {_NEXT[verdict.kind]}"


_NEXT = {
    "revise": "the same worker goes on in its workspace with these reasons",
    "restart": "another worker begins afresh with these reasons",
    "split": "its planner divides the task",
    "reject": "the task has ended; retry it to have it tried again",
    "escalate": "a person or a working provider is needed; retry it when that is mended",
}


def _person(state: RunState, unit: UnitId) -> Iterator[str]:
    answer = state.approvals.get(build_landing_item(unit))
    if answer is None:
        return
    if state.is_waiting(answer):
        yield f"waits for your answer: {answer.id} {answer.approval.item}"
    elif answer.decision is not None:
        reason = f": {quote_text(answer.reason)}" * bool(answer.reason)
        yield f"{DECISION_WORDS[answer.decision]} by {to_one_line(answer.by)}{reason}"


def _queue(state: RunState, unit: UnitId, ejection: UnitEjected | None) -> Iterator[str]:
    trials = [trial for trial in state.trials if unit in trial.units]
    if trials:
        yield f"tried in {format_count(len(trials), 'union')}"
    for trial in trials[-5:]:
        word = "green" if trial.difference.is_green else "red"
        look = ", second look" * trial.is_second_look + ", known" * trial.cached
        yield f"  {trial.round}: {word} with {len(trial.units) - 1} others{look}"
    if ejection is not None:
        yield f"ejected: {quote_text(describe_ejection(ejection))}"
    landing = next((one for one in state.landings if unit in one.units), None)
    if landing is not None:
        yield f"landed at {landing.new[:12]} on {to_one_line(landing.branch)}"


def _vote(task: TaskState, vote: LensVote) -> Iterator[str]:
    """Yield a reviewer's vote, and its findings point by point with their evidence."""
    points = get_review_points(task.spec)
    yield f"{to_one_line(vote.lens)} lens ({to_one_line(vote.model)}): {vote.decision}"
    for reason in vote.reasons:
        yield f"  {quote_text(reason)}"
    for finding in vote.findings:
        evidence = to_one_line(", ".join(finding.evidence), _POINT_CHARS) or "no evidence"
        result = "met" if finding.met else "NOT met"
        yield f"  {result}  {to_one_line(points.get(finding.id, finding.id), _POINT_CHARS)}"
        yield f"      shown by {evidence}"


def _before(state: RunState) -> Iterator[str]:
    """Yield the result of the gate on the base."""
    receipts = state.get_baseline_receipts().values()
    if receipts:
        yield ""
    for receipt in receipts:
        counts = receipt.counts
        result = receipt.ending_text
        if counts.total:
            result = f"{counts.passed} passed, {counts.failed + counts.errors} failed, {counts.skipped} skipped"
        yield f"before, on the base: {receipt.kind}: {result}"
