"""What judging came to, as data and in lines for a person. Every rate stands beside what it was counted from."""

from collections.abc import Iterator
from typing import Any

from orchestrator.domain.ids import TaskId
from orchestrator.domain.plain import one_line
from orchestrator.report.budget import amount
from orchestrator.report.judging import Judging
from orchestrator.report.lenses import BASIS, ESCAPES, VETOES, LensRecord, records_of
from orchestrator.report.lines import short_model

SCHEMA = "orchestrate.report/1"
_SHOWN = 20


def judging_object(judging: Judging, task: TaskId | None = None) -> dict[str, Any]:
    """The report as data; docs/judging.md has every field. A rate is None where its basis is too small."""
    each = judging.attempts_each
    return {
        "schema": SCHEMA,
        "runs": list(judging.runs),
        "task": task,
        "least_basis": BASIS,
        "lenses": [_lens(record) for record in records_of(judging.held)],
        "verdicts": {"kinds": dict(sorted(judging.kinds.items())), "causes": dict(sorted(judging.causes.items()))},
        "ends": [
            {"status": status, "cause": cause or None, "tasks": count}
            for (status, cause), count in sorted(judging.ends.items())
        ],
        "attempts": {
            "per_merged_task": None if each is None else round(each, 2),
            "merged_tasks": {str(number): count for number, count in sorted(judging.attempts.items())},
        },
        "receipts": {"run": judging.receipts, "reused": judging.reused, "seconds": round(judging.seconds, 1)},
        "flaky": [{"test": test, "seen": seen} for test, seen in judging.flaky.most_common()],
    }


def _lens(record: LensRecord) -> dict[str, Any]:
    spent = amount(record.spent)
    usd = spent["usd"]
    return {
        "lens": record.lens,
        "model": record.model,
        "votes": record.votes,
        "approvals": record.approvals,
        "vetoes": {name: record.decisions[name] for name in VETOES},
        "unreadable": record.decisions["unreadable"],
        "undecided": record.undecided,
        "escaped": record.escaped,
        "escapes": {name: record.escapes[name] for name in ESCAPES},
        "escape_rate": _rounded(record.escape_rate),
        "false_vetoes": record.false_vetoes,
        "false_veto_rate": _rounded(record.false_veto_rate),
        "spent": spent,
        "usd_per_vote": None if usd is None or not record.votes else round(usd / record.votes, 6),
    }


def _rounded(rate: float | None) -> float | None:
    return None if rate is None else round(rate, 4)


def judging_lines(judging: Judging) -> Iterator[str]:
    """The same for a person."""
    yield f"{len(judging.runs)} runs" if len(judging.runs) != 1 else f"run {judging.runs[0]}"
    yield from _verdicts(judging)
    records = records_of(judging.held)
    for record in records:
        yield from _lens_lines(record)
    if not records:
        yield "no lens has voted"
    yield f"receipts: {judging.receipts} made in {judging.seconds:.1f} s, {judging.reused} times one was reused"
    for test, seen in judging.flaky.most_common(_SHOWN):
        yield f"  flaky: {one_line(test)}, seen both ways {seen} times"
    if len(judging.flaky) > _SHOWN:
        yield f"  … and {len(judging.flaky) - _SHOWN} more flaky tests"


def _verdicts(judging: Judging) -> Iterator[str]:
    if judging.kinds:
        yield f"verdicts: {_counts(judging.kinds)}"
    if judging.causes:
        yield f"  for: {_counts(judging.causes)}"
    for (status, cause), count in sorted(judging.ends.items()):
        yield f"  tasks {status}{f', {cause}' if cause else ''}: {count}"
    if (each := judging.attempts_each) is not None:
        yield f"  attempts per merged task: {each:.2f} (n = {judging.attempts.total()})"


def _counts(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def _lens_lines(record: LensRecord) -> Iterator[str]:
    vetoes = {name: record.decisions[name] for name in VETOES if record.decisions[name]}
    name = f"{one_line(record.lens)} on {one_line(short_model(record.model))}"
    yield f"lens {name}: {record.votes} votes, {_cost(record)}"
    unreadable = f", {count} unreadable" if (count := record.decisions["unreadable"]) else ""
    yield f"  {record.approvals} approved, {record.vetoes} vetoed{_signs(vetoes)}{unreadable}"
    signs = {name: record.escapes[name] for name in ESCAPES if record.escapes[name]}
    open_ = f"; {record.undecided} not decided yet" if record.undecided else ""
    yield f"  escaped: {_rate(record.escape_rate, record.escaped, record.approvals)}{_signs(signs)}{open_}"
    yield f"  vetoed and landed after all: {_rate(record.false_veto_rate, record.false_vetoes, record.vetoes)}"


def _signs(signs: dict[Any, int]) -> str:
    return f" ({_counts(signs)})" if signs else ""


def _rate(rate: float | None, count: int, basis: int) -> str:
    told = "no basis yet" if rate is None else f"{rate:.1%}"
    return f"{count} of {basis}, {told}"


def _cost(record: LensRecord) -> str:
    spent = record.spent
    if spent.unpriced_calls or not record.votes:
        return f"{spent.price}, {spent.tokens:,} tokens"
    return f"{spent.price}, ${spent.cost_usd / record.votes:.4f} each"
