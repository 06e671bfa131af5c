"""Build the judging report, and render it in lines. Every rate stands beside the numbers it comes from."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from orchestrator.domain.ids import RunId, TaskId
from orchestrator.domain.run.task import EndCause, TaskStatus
from orchestrator.domain.text.listing import add_lead, limit_lines
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.cost.budgets import build_usage_amount
from orchestrator.report.cost.model import Amount
from orchestrator.report.judging.lens_accuracy import ESCAPES, LEAST_BASIS, VETOES, LensRecord, build_lens_records
from orchestrator.report.judging.totals import JudgingTotals
from orchestrator.report.log.event_descriptions import shorten_model_name
from orchestrator.report.read_model import Document, ReadModel
from orchestrator.report.run.model import FlakyTest


class LensFigures(ReadModel):
    """The accuracy of a lens with one model. A rate is None where its basis is too small.

    `undecided` approvals are of changes that nothing is known of yet.
    """

    lens: str
    model: str
    votes: int
    approvals: int
    vetoes: dict[str, int]
    unreadable: int
    undecided: int
    escaped: int
    escapes: dict[str, int]
    escape_rate: float | None
    false_vetoes: int
    false_veto_rate: float | None
    spent: Amount
    usd_per_vote: float | None


class VerdictCounts(ReadModel):
    """Verdicts by kind, and those with a cause by their cause."""

    kinds: dict[str, int]
    causes: dict[str, int]


class TaskEndCount(ReadModel):
    """The number of leaf tasks that ended in one way."""

    status: TaskStatus
    cause: EndCause | None
    tasks: int


class AttemptCounts(ReadModel):
    """Merged tasks by the number of attempts they took, and the mean; None where none merged."""

    per_merged_task: float | None
    merged_tasks: dict[str, int]


class ReceiptCounts(ReadModel):
    """Checks that were run, their seconds, runs that an existing receipt replaced, and further runs on one tree.

    `per_landed_task` counts runs of every kind, `whole_per_landed_task` those of the whole gate; both are null while
    nothing has landed.
    """

    run: int
    reused: int
    seconds: float
    reruns: int = 0
    rerun_seconds: float = 0.0
    per_landed_task: float | None = None
    whole_per_landed_task: float | None = None


class JudgingReport(Document, schema="orchestrate.report/1"):
    """The output of `report`: what judging came to, in one run or in many."""

    runs: tuple[RunId, ...]
    task: TaskId | None
    least_basis: int
    lenses: tuple[LensFigures, ...]
    verdicts: VerdictCounts
    ends: tuple[TaskEndCount, ...]
    attempts: AttemptCounts
    receipts: ReceiptCounts
    flaky: tuple[FlakyTest, ...]


_SHOWN = 20


def build_judging_report(judging: JudgingTotals, task: TaskId | None = None) -> JudgingReport:
    """Return the report as `report --json` prints it; docs/judging.md has every field."""
    return JudgingReport(
        runs=tuple(judging.runs),
        task=task,
        least_basis=LEAST_BASIS,
        lenses=tuple(map(_build_lens, build_lens_records(judging.vote_outcomes))),
        verdicts=VerdictCounts(kinds=dict(sorted(judging.kinds.items())), causes=dict(sorted(judging.causes.items()))),
        ends=tuple(map(_build_end, sorted(judging.ends.items()))),
        attempts=AttemptCounts(
            per_merged_task=_round_rate(judging.attempts_per_merged_task, 2),
            merged_tasks={str(number): count for number, count in sorted(judging.attempts.items())},
        ),
        receipts=ReceiptCounts(
            run=judging.receipts,
            reused=judging.reused,
            seconds=round(judging.seconds, 1),
            reruns=judging.reruns,
            rerun_seconds=round(judging.rerun_seconds, 1),
            per_landed_task=_round_rate(judging.runs_per_landed_task, 2),
            whole_per_landed_task=_round_rate(judging.whole_runs_per_landed_task, 2),
        ),
        flaky=tuple(FlakyTest(test=test, seen=seen) for test, seen in judging.flaky.most_common()),
    )


def _build_lens(record: LensRecord) -> LensFigures:
    spent = build_usage_amount(record.spent)
    return LensFigures(
        lens=record.lens,
        model=record.model,
        votes=record.votes,
        approvals=record.approvals,
        vetoes={name: record.decisions[name] for name in VETOES},
        unreadable=record.decisions["unreadable"],
        undecided=record.undecided,
        escaped=record.escaped,
        escapes={name: record.escapes[name] for name in ESCAPES},
        escape_rate=_round_rate(record.escape_rate, 4),
        false_vetoes=record.false_vetoes,
        false_veto_rate=_round_rate(record.false_veto_rate, 4),
        spent=spent,
        usd_per_vote=None if spent.usd is None or not record.votes else round(spent.usd / record.votes, 6),
    )


def _build_end(counted: tuple[tuple[str, str], int]) -> TaskEndCount:
    (status, cause), tasks = counted
    return TaskEndCount(status=TaskStatus(status), cause=EndCause(cause) if cause else None, tasks=tasks)


def _round_rate(rate: float | None, digits: int) -> float | None:
    if rate is None:
        return None
    return round(rate, digits)


def render_judging_lines(judging: JudgingTotals) -> Iterator[str]:
    """Yield verdicts, lenses, receipts and flaky tests in lines."""
    yield f"{len(judging.runs)} runs" if len(judging.runs) != 1 else f"run {judging.runs[0]}"
    yield from _render_verdicts(judging)
    records = build_lens_records(judging.vote_outcomes)
    for record in records:
        yield from _render_lens(record)
    if not records:
        yield "no lens has voted"
    yield f"receipts: {judging.receipts} made in {judging.seconds:.1f} s, {judging.reused} times one was reused"
    if judging.runs_per_landed_task is not None:
        whole = judging.whole_runs_per_landed_task or 0.0
        yield f"  {judging.runs_per_landed_task:.1f} for each landed task, {whole:.1f} of them of the whole gate"
    if judging.reruns:
        yield f"  {judging.reruns} of them looked at a tree once more ({judging.rerun_seconds:.1f} s)"
    flaky = []
    for test, seen in judging.flaky.most_common():
        flaky.append(f"  flaky: {to_one_line(test)}, seen both ways {seen} times")
    yield from limit_lines(flaky, _SHOWN, "  … and {count} more flaky tests")


def _render_verdicts(judging: JudgingTotals) -> Iterator[str]:
    if judging.kinds:
        yield f"verdicts: {_format_counts(judging.kinds)}"
    if judging.causes:
        yield f"  for: {_format_counts(judging.causes)}"
    for (status, cause), count in sorted(judging.ends.items()):
        yield f"  tasks {status}{add_lead(', ', cause)}: {count}"
    if (each := judging.attempts_per_merged_task) is not None:
        yield f"  attempts per merged task: {each:.2f} (n = {judging.attempts.total()})"


def _format_counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def _render_lens(record: LensRecord) -> Iterator[str]:
    name = f"{to_one_line(record.lens)} on {to_one_line(shorten_model_name(record.model))}"
    yield f"lens {name}: {record.votes} votes, {_format_lens_cost(record)}"
    votes = f"  {record.approvals} approved, {record.vetoes} vetoed{_format_signs(VETOES, record.decisions)}"
    if count := record.decisions["unreadable"]:
        votes += f", {count} unreadable"
    yield votes
    escaped = _format_rate(record.escape_rate, record.escaped, record.approvals)
    escaped += _format_signs(ESCAPES, record.escapes)
    if record.undecided:
        escaped += f"; {record.undecided} not decided yet"
    yield f"  escaped: {escaped}"
    false_vetoes = _format_rate(record.false_veto_rate, record.false_vetoes, record.vetoes)
    yield f"  vetoed and landed after all: {false_vetoes}"


def _format_signs(names: Iterable[str], counts: Mapping[Any, int]) -> str:
    return add_lead(" (", _format_counts({name: counts[name] for name in names if counts[name]}), ")")


def _format_rate(rate: float | None, count: int, basis: int) -> str:
    if rate is None:
        return f"{count} of {basis}, no basis yet"
    return f"{count} of {basis}, {rate:.1%}"


def _format_lens_cost(record: LensRecord) -> str:
    spent = record.spent
    if spent.unpriced_calls or not record.votes:
        return f"cost {spent.cost_text}, {spent.tokens:,} tokens"
    return f"cost {spent.cost_text}, ${spent.cost_usd / record.votes:.4f} each"
