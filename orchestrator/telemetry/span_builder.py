"""Builds the spans of a run from its events: run, task, attempt, agent, turn, and in it model calls and tools."""

from collections.abc import Mapping
from functools import singledispatchmethod

from orchestrator.domain.event import RecordedEvent, run, work
from orchestrator.domain.event.base import Event
from orchestrator.domain.event.external import HookFinished, HookStarted
from orchestrator.domain.event.landing import LandingFinished, LandingStarted
from orchestrator.domain.event.migration import StepFinished, StepStarted
from orchestrator.domain.event.policy import PolicyLoaded
from orchestrator.domain.identity import LOOP_ENGINE, AgentIdentity
from orchestrator.domain.ids import SessionId, TaskId, parse_check_name, parse_unit_task
from orchestrator.domain.run.task import TaskStatus
from orchestrator.domain.traces import span_names as names
from orchestrator.telemetry import attributes as attribute_sets
from orchestrator.telemetry.span import Attributes, FinishedSpan, OpenSpan

_NO_ATTRIBUTES: Attributes = {}
_AT_WORK = frozenset({"worker", "arbiter"})
_ABANDONED = "abandoned"
_UNFINISHED: Attributes = {"orchestrate.is_unfinished": True}


class SpanBuilder:
    """Takes the events of one run in order, from the first, and gives the spans that each of them ends.

    A span whose task or run goes on after its end is given again when it ends the next time, with the same key.
    """

    def __init__(self, *, has_content: bool = False) -> None:
        self._has_content = has_content
        self._spans: dict[str, OpenSpan] = {}
        self._tasks: dict[TaskId, OpenSpan] = {}
        self._unfinished: set[TaskId] = set()
        self._run = AgentIdentity(run="")
        self._attempts: dict[TaskId, AgentIdentity] = {}
        self._agents: dict[SessionId, AgentIdentity] = {}
        self._turns: dict[SessionId, int] = {}
        self._finished: list[FinishedSpan] = []
        self._recorded: RecordedEvent

    def add_event(self, recorded: RecordedEvent) -> list[FinishedSpan]:
        """Take the next event; return the spans that it ends."""
        self._recorded = recorded
        self._finished = []
        self._take(recorded.event)
        return self._finished

    def find_identity(self, session: SessionId) -> AgentIdentity:
        """Return who has a conversation."""
        return self._agents.get(session, self._run)

    def _begin(
        self,
        key: str,
        parent: str | None,
        title: str,
        identity: AgentIdentity,
        own: Attributes = _NO_ATTRIBUTES,
        *,
        is_client: bool = False,
    ) -> None:
        span = self._open(key, parent, title, identity, own)
        span.is_client = is_client
        self._spans[key] = span

    def _open(
        self, key: str, parent: str | None, title: str, identity: AgentIdentity, own: Attributes = _NO_ATTRIBUTES
    ) -> OpenSpan:
        about = {**attribute_sets.build_identity_attributes(identity), **own}
        return OpenSpan(key, parent, title, self._recorded.at, about)

    def _end(self, key: str, error: str = "", added: Attributes = _NO_ATTRIBUTES) -> None:
        span = self._spans.pop(key, None)
        if span is not None:
            self._finished.append(span.end_at(self._recorded.at, self._recorded.seq, error, added))

    def _end_task(self, task: TaskId | None, added: Attributes, error: str = "") -> None:
        span = self._tasks.get(task) if task is not None else None
        if task is not None and span is not None:
            self._unfinished.discard(task)
            self._finished.append(span.end_at(self._recorded.at, self._recorded.seq, error, added))

    @singledispatchmethod
    def _take(self, event: Event) -> None:
        """Ignore what neither begins nor ends a span."""

    @_take.register
    def _(self, event: run.RunStarted) -> None:
        self._run = self._run.model_copy(update={"run": event.run})
        own = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": event.mode}
        self._begin(names.RUN_SPAN, None, f"invoke_workflow {event.mode}", self._run, own)

    @_take.register
    def _(self, event: PolicyLoaded) -> None:
        self._run = self._run.model_copy(update={"policy": event.policy})

    @_take.register
    def _(self, event: run.RunEnded) -> None:
        root = self._spans.pop(names.RUN_SPAN, None)
        for key in reversed(tuple(self._spans)):
            self._end(key, added=_UNFINISHED)
        for task in sorted(self._unfinished):
            self._end_task(task, _UNFINISHED)
        if root is not None:
            self._spans[names.RUN_SPAN] = root  # a run that is taken up again ends once more
            added = {"orchestrate.run.outcome": event.outcome}
            error = event.outcome if event.exit else ""
            self._finished.append(root.end_at(self._recorded.at, self._recorded.seq, error, added))

    @_take.register
    def _(self, event: work.TaskCreated) -> None:
        spec = event.spec
        parent = names.RUN_SPAN if spec.parent is None else names.name_task_span(spec.parent)
        identity = self._run.model_copy(update={"task": spec.id})
        self._unfinished.add(spec.id)
        self._tasks[spec.id] = self._open(names.name_task_span(spec.id), parent, f"task {spec.id}", identity)

    @_take.register
    def _(self, event: work.TaskEnded) -> None:
        error = "" if event.status.is_reached else str(event.cause or event.status)
        self._end_task(event.task, _build_status(event.status), error)

    @_take.register
    def _(self, event: work.PlanningEnded) -> None:
        self._end_task(event.task, _build_status(TaskStatus.DONE))

    @_take.register
    def _(self, event: work.AttemptStarted) -> None:
        attempt = event.attempt
        own = {"task": attempt.task, "attempt": attempt.number, "model": attempt.model, "policy": event.policy}
        role = "arbiter" if attempt.mode == "arbitrate" else "worker"
        identity = self._run.model_copy(update={**own, "role": role, "engine": event.engine or LOOP_ENGINE})
        self._attempts[attempt.task] = identity
        key, parent = names.name_attempt_span(attempt.task, attempt.number), names.name_task_span(attempt.task)
        mode = {"orchestrate.attempt.mode": attempt.mode}
        self._begin(key, parent, f"attempt {attempt.task}@{attempt.number}", identity, mode)

    @_take.register
    def _(self, event: work.AttemptEnded) -> None:
        if event.task is not None:
            self._end(names.name_attempt_span(event.task, event.number), _name_exit_error(event.exit))

    @_take.register
    def _(self, event: work.SessionStarted) -> None:
        begun = self._attempts.get(event.task) if event.task is not None else None
        identity = (begun or self._run).model_copy(
            update={"task": event.task, "role": event.role, "model": event.model}
        )
        parent = self._find_task_parent(event.task)
        if begun is not None and event.task is not None and event.role in _AT_WORK:
            parent = names.name_attempt_span(event.task, begun.attempt)
        else:
            identity = identity.model_copy(update={"engine": LOOP_ENGINE, "policy": self._run.policy})
        self._agents[event.session] = identity
        own = attribute_sets.build_session_attributes(event, identity.engine, has_content=self._has_content)
        self._begin(names.name_session_span(event.session), parent, f"invoke_agent {event.role}", identity, own)

    @_take.register
    def _(self, event: work.SessionEnded) -> None:
        self._end_turn(event.session, self._turns.get(event.session, 0))
        self._end(names.name_session_span(event.session), _name_exit_error(event.exit))

    @_take.register
    def _(self, event: work.ModelCalled) -> None:
        own = attribute_sets.build_call_attributes(event, self.find_identity(event.session).engine)
        title = f"chat {own['gen_ai.request.model']}"
        self._begin_in_turn(event, title, own, is_client=True)

    @_take.register
    def _(self, event: work.ModelReplied) -> None:
        added = attribute_sets.build_reply_attributes(event, has_content=self._has_content)
        self._end(names.name_effect_span(event.key), added=added)

    @_take.register
    def _(self, event: work.ModelFailed) -> None:
        self._end(names.name_effect_span(event.key), event.error)

    @_take.register
    def _(self, event: work.ToolCalled) -> None:
        own = attribute_sets.build_tool_attributes(event, has_content=self._has_content)
        self._begin_in_turn(event, f"execute_tool {own['gen_ai.tool.name']}", own)

    @_take.register
    def _(self, event: work.ToolReturned) -> None:
        added = attribute_sets.build_result_attributes(event, has_content=self._has_content)
        error = "" if event.ok else "tool_error"
        self._end(names.name_effect_span(event.key), error, added)

    @_take.register
    def _(self, event: work.TurnEnded) -> None:
        self._end_turn(event.session, event.turn)

    def _begin_in_turn(self, event: work.TurnIntent, title: str, own: Attributes, *, is_client: bool = False) -> None:
        turn, identity = names.name_turn_span(event.session, event.turn), self.find_identity(event.session)
        if turn not in self._spans:
            place: Attributes = {"orchestrate.turn": event.turn, "gen_ai.conversation.id": event.session}
            self._begin(turn, names.name_session_span(event.session), f"turn {event.turn}", identity, place)
            self._turns[event.session] = event.turn
        self._begin(names.name_effect_span(event.key), turn, title, identity, own, is_client=is_client)

    def _end_turn(self, session: SessionId, turn: int) -> None:
        self._end(names.name_turn_span(session, turn))

    @_take.register
    def _(self, event: run.CheckStarted) -> None:
        facts = event.purpose_facts
        identity = self._run
        if facts.task is not None:
            identity = self._attempts.get(facts.task, self._run.model_copy(update={"task": facts.task}))
        check = parse_check_name(event.check)
        own = {"orchestrate.check": check, "orchestrate.check.purpose": facts.kind}
        parent = self._find_task_parent(facts.task)
        self._begin(names.name_effect_span(event.key), parent, f"check {check}", identity, own)

    @_take.register
    def _(self, event: run.CheckFinished) -> None:
        receipt = event.receipt
        added: dict[str, str | int] = {"orchestrate.check.status": receipt.status}
        if receipt.exit_code is not None:
            added["orchestrate.check.exit_code"] = receipt.exit_code
        self._end(names.name_effect_span(event.key), attribute_sets.build_check_error(receipt), added)

    @_take.register
    def _(self, event: run.CheckReused) -> None:
        self._end(names.name_effect_span(event.key), added={"orchestrate.check.is_reused": True})

    @_take.register
    def _(self, event: LandingStarted) -> None:
        attempts = []
        for unit in event.units:
            if parse_unit_task(unit) in self._tasks:
                attempts.append(unit)
        tasks = tuple(dict.fromkeys(map(parse_unit_task, event.units)))
        task = tasks[0] if len(tasks) == 1 and attempts else None
        identity = self._attempts.get(task, self._run) if task is not None else self._run
        own = attribute_sets.build_landing_attributes(event.new, event.units, attempts)
        self._begin(names.name_effect_span(event.key), self._find_task_parent(task), "landing", identity, own)

    @_take.register
    def _(self, event: LandingFinished) -> None:
        self._end(names.name_effect_span(event.key))
        for task in dict.fromkeys(map(parse_unit_task, event.units)):
            self._end_task(task, _build_status(TaskStatus.MERGED))

    @_take.register
    def _(self, event: StepStarted) -> None:
        own: Attributes = {"orchestrate.step.id": event.step, "orchestrate.step.files": event.files}
        key, parent = names.name_effect_span(event.key), self._find_task_parent(event.task)
        self._begin(key, parent, f"step {event.step}", self._run, own)

    @_take.register
    def _(self, event: StepFinished) -> None:
        self._end(names.name_effect_span(event.key), added={"orchestrate.step.changed": event.changed})

    @_take.register
    def _(self, event: HookStarted) -> None:
        own: Mapping[str, str | int] = {"orchestrate.hook.point": event.point, "orchestrate.hook.number": event.hook}
        identity = self._run.model_copy(update={"task": event.task})
        parent = self._find_task_parent(event.task)
        self._begin(names.name_effect_span(event.key), parent, f"hook {event.point}", identity, own)

    @_take.register
    def _(self, event: HookFinished) -> None:
        error = "hook_failed" if event.decision == "failed" else ""
        self._end(names.name_effect_span(event.key), error, {"orchestrate.hook.decision": event.decision})

    @_take.register
    def _(self, event: run.EffectAbandoned) -> None:
        self._end(names.name_effect_span(event.key), _ABANDONED)

    def _find_task_parent(self, task: TaskId | None) -> str:
        return names.name_task_span(task) if task in self._tasks else names.RUN_SPAN


def _build_status(status: TaskStatus) -> Attributes:
    return {"orchestrate.task.status": status}


def _name_exit_error(outcome: str) -> str:
    return "" if outcome == "finished" else outcome
