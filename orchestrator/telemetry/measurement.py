"""The metrics of a run: those of the semantic conventions for generative AI, and our own of landings and cost."""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import singledispatchmethod
from typing import NamedTuple

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.base import Event
from orchestrator.domain.event.landing import LandingFinished
from orchestrator.domain.event.work import ModelCalled, ModelFailed, ModelReplied, TaskEnded, VerdictGiven
from orchestrator.domain.identity import AgentIdentity
from orchestrator.domain.ids import SessionId, UnitId, build_unit_id
from orchestrator.domain.judging.verdict import VerdictKind
from orchestrator.telemetry.attributes import build_model_attributes
from orchestrator.telemetry.span import Attributes, AttributeValue

TOKEN_USAGE = "gen_ai.client.token.usage"
OPERATION_DURATION = "gen_ai.client.operation.duration"
COST, LANDINGS, ENDED_TASKS = "orchestrate.cost", "orchestrate.landings", "orchestrate.tasks.ended"
QUEUE_DURATION = "orchestrate.queue.duration"
COUNTERS = {COST: "USD", LANDINGS: "{unit}", ENDED_TASKS: "{task}"}
"""Unit by the name of what is counted."""
HISTOGRAM_UNITS = {TOKEN_USAGE: "{token}", OPERATION_DURATION: "s", QUEUE_DURATION: "s"}
_TOKEN_BOUNDS = tuple(float(4**power) for power in range(14))
_SECOND_BOUNDS = tuple(0.01 * 2**power for power in range(14))
HISTOGRAM_BOUNDS: Mapping[str, tuple[float, ...]] = {
    TOKEN_USAGE: _TOKEN_BOUNDS,
    OPERATION_DURATION: _SECOND_BOUNDS,
    QUEUE_DURATION: (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0),
}
"""The bounds of the buckets by the name of the histogram; those of the conventions where they give some."""


class Measurement(NamedTuple):
    """One value of a metric."""

    name: str
    value: float
    attributes: Attributes


class Meter:
    """Takes the events of one run in order, from the first, and gives what each of them measures.

    `find_identity` tells who has a conversation, as far as its events were taken.
    """

    def __init__(self, find_identity: Callable[[SessionId], AgentIdentity]) -> None:
        self._find_identity = find_identity
        self._called: dict[str, ModelCalled] = {}
        self._called_at: dict[str, datetime] = {}
        self._queued_at: dict[UnitId, datetime] = {}
        self._measured: list[Measurement] = []
        self._at: datetime

    def add_event(self, recorded: RecordedEvent) -> list[Measurement]:
        """Take the next event; return what it measures."""
        self._at = recorded.at
        self._measured = []
        self._take(recorded.event)
        return self._measured

    @singledispatchmethod
    def _take(self, event: Event) -> None:
        """Ignore what measures nothing."""

    @_take.register
    def _(self, event: ModelCalled) -> None:
        self._called[event.key], self._called_at[event.key] = event, self._at

    @_take.register
    def _(self, event: ModelReplied) -> None:
        about = self._close_call(event)
        self._measure(OPERATION_DURATION, event.seconds, about)
        for kind, tokens in (("input", event.usage.input_tokens), ("output", event.usage.output_tokens)):
            self._measure(TOKEN_USAGE, tokens, {**about, "gen_ai.token.type": kind})
        if event.usage.usd is not None:
            self._measure(COST, event.usage.usd, about)

    @_take.register
    def _(self, event: ModelFailed) -> None:
        began = self._called_at.get(event.key, self._at)
        about = {**self._close_call(event), "error.type": event.error}
        self._measure(OPERATION_DURATION, max(0.0, (self._at - began).total_seconds()), about)

    @_take.register
    def _(self, event: VerdictGiven) -> None:
        if event.task is not None and event.verdict.kind == VerdictKind.MERGE:
            self._queued_at[build_unit_id(event.task, event.number)] = self._at

    @_take.register
    def _(self, event: LandingFinished) -> None:
        if not event.is_squash:
            self._measure(LANDINGS, len(event.units), {})
        for unit in event.units:
            queued_at = self._queued_at.pop(unit, None)
            if queued_at is not None:
                self._measure(QUEUE_DURATION, max(0.0, (self._at - queued_at).total_seconds()), {})

    @_take.register
    def _(self, event: TaskEnded) -> None:
        self._measure(ENDED_TASKS, 1, {"orchestrate.task.status": event.status})

    def _close_call(self, event: ModelReplied | ModelFailed) -> dict[str, AttributeValue]:
        called = self._called.pop(event.key, None)
        self._called_at.pop(event.key, None)
        engine = self._find_identity(event.session).engine
        about = build_model_attributes(called.model if called else event.model, engine)
        about["gen_ai.operation.name"] = "chat"
        about["orchestrate.agent.role"] = event.role
        return about

    def _measure(self, name: str, value: float, attributes: Attributes) -> None:
        self._measured.append(Measurement(name, value, attributes))
