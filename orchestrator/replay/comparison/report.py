"""The report of a replay, held against its recording, and as a document."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Reply
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import SessionId
from orchestrator.domain.run.state import RunState
from orchestrator.replay.comparison import outcomes, report_model
from orchestrator.replay.comparison.requests import Divergence


class RepeatedReply(FrozenModel):
    """The new reply to a call that was made again."""

    session: SessionId
    turn: int
    reply: Reply


class RepeatedRole(FrozenModel):
    """A role that was asked again: on which models, how each call came out, what was replied, and what it cost."""

    role: str
    models: tuple[str, ...]
    calls: tuple[report_model.ComparedCall, ...]
    spent: Usage
    replies: tuple[RepeatedReply, ...] = ()

    @property
    def same_count(self) -> int:
        """The number of calls that decided the same."""
        return sum(call.same for call in self.calls)

    @property
    def failed_count(self) -> int:
        """The number of calls that brought no answer."""
        return sum(call.new is None for call in self.calls)


class ReplayReport(FrozenModel):
    """A replay held against its recording. `divergences` are in recorded order.

    `is_whole` tells whether the recorded run came to its end; `kept` is the directory that was kept on demand.
    """

    run: str
    mode: Literal["goal", "migration"]
    is_whole: bool
    same_bytes: int
    same_steadied: int
    divergences: tuple[Divergence, ...]
    landings: tuple[report_model.ComparedLanding, ...]
    recorded_tree: str
    replayed_tree: str
    recorded_outcome: str
    replayed_outcome: str
    has_same_environment: bool
    prompts: tuple[str, ...] = ()
    asking: RepeatedRole | None = None
    kept: Path | None = None

    @property
    def is_same(self) -> bool:
        """True if nothing diverged: where a role was asked again, whether it decided the same and nothing else did."""
        return not self.unexpected and (self.asking is None or all(call.same for call in self.asking.calls))

    @property
    def unexpected(self) -> tuple[Divergence, ...]:
        """The divergences, without the changed requests of a role that is asked again with other prompts."""
        expected = self.asking.role if self.asking and self.prompts else None
        return tuple(one for one in self.divergences if one.role is None or one.role != expected)

    @property
    def exit_code(self) -> int:
        """0 when nothing diverged, else 1."""
        return int(not self.is_same)


def find_fact_divergences(
    then: RunState, recorded: Sequence[RecordedEvent], now: RunState, replayed: Sequence[RecordedEvent]
) -> Iterator[Divergence]:
    """Yield every divergence that shows in what came of the two, but for the requests."""
    yield from outcomes.find_changed_facts(recorded, replayed)
    if now.ended:
        yield from outcomes.find_missing_facts(recorded, replayed)
    for pair, landing in zip(outcomes.pair_landings(then, now), _landings(recorded), strict=False):
        if pair.replayed is not None and not pair.same:
            yield Divergence(seq=landing.seq, what=f"landing {pair.number}: tree {pair.recorded}, now {pair.replayed}")


def build_report(
    then: RunState,
    now: RunState,
    divergences: Sequence[Divergence],
    counts: tuple[int, int],
    **more: Any,  # noqa: ANN401
) -> ReplayReport:
    """Return the report on a replay; `counts` are the requests of equal bytes, and those equal but for times."""
    return ReplayReport(
        run=then.run.run,
        mode=then.run.mode,
        is_whole=then.ended is not None,
        same_bytes=counts[0],
        same_steadied=counts[1],
        divergences=tuple(sorted(divergences, key=lambda one: one.seq)),
        landings=outcomes.pair_landings(then, now),
        recorded_tree=outcomes.get_final_tree(then),
        replayed_tree=outcomes.get_final_tree(now),
        recorded_outcome=_outcome(then),
        replayed_outcome=_outcome(now),
        has_same_environment=outcomes.has_same_environment(then, now),
        **more,
    )


def build_replay_document(report: ReplayReport) -> report_model.ReplayDocument:
    """Return the report as `docs/replay.md` describes it."""
    return report_model.ReplayDocument(
        run=report.run,
        mode=report.mode,
        same=report.is_same,
        exit=report.exit_code,
        whole=report.is_whole,
        requests=report_model.RequestCounts(
            same_bytes=report.same_bytes,
            same_but_for_times=report.same_steadied,
            different=sum(one.session is not None for one in report.divergences),
        ),
        landings=report.landings,
        final_tree=report_model.ComparedTree(
            recorded=report.recorded_tree,
            replayed=report.replayed_tree,
            same=report.recorded_tree == report.replayed_tree,
        ),
        outcome=report_model.ComparedValue(recorded=report.recorded_outcome, replayed=report.replayed_outcome),
        divergences=len(report.divergences),
        first_divergence=next(iter((*report.unexpected, *report.divergences)), None),
        environment_same=report.has_same_environment,
        prompts=report.prompts,
        asked_again=_build_role(report.asking) if report.asking else None,
        kept=str(report.kept) if report.kept else None,
    )


def _build_role(asking: RepeatedRole) -> report_model.ComparedRole:
    usd, same, failed = None, asking.same_count, asking.failed_count
    if not asking.spent.unpriced_calls:
        usd = float(asking.spent.cost_usd)
    return report_model.ComparedRole(
        role=asking.role,
        models=asking.models,
        calls=asking.calls,
        same=same,
        different=len(asking.calls) - same - failed,
        failed=failed,
        spent=report_model.RepeatSpending(usd=usd, tokens=asking.spent.tokens, calls=asking.spent.calls),
    )


def _landings(events: Sequence[RecordedEvent]) -> list[RecordedEvent]:
    return [recorded for recorded in events if recorded.event.kind == "landing.finished"]


def _outcome(state: RunState) -> str:
    return state.ended.outcome if state.ended else "stopped"
