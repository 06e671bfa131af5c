"""The fold: events to state, and the moves it refuses."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Role
from orchestrator.domain.event import (
    EVENT_CLASSES,
    Event,
    RecordedEvent,
    UnknownEventError,
    format_event_body,
    parse_event,
)
from orchestrator.domain.event.base import Done, Intent
from orchestrator.domain.event.landing import LandingFinished, LandingStarted
from orchestrator.domain.event.migration import FileMoved, FilesFound, FoundFile
from orchestrator.domain.event.run import BaselineRecorded, EffectAbandoned, EngineStarted, Noticed
from orchestrator.domain.event.work import (
    AttemptEnded,
    AttemptStarted,
    ModelCalled,
    ModelFailed,
    ModelReplied,
    SessionStarted,
    TaskCreated,
    VerdictGiven,
)
from orchestrator.domain.fold.projection import apply_recorded_event, fold_events
from orchestrator.domain.ids import (
    ROOT_TASK,
    CommitId,
    SessionId,
    TaskId,
    TreeId,
    UnitId,
    build_effect_key,
    build_unit_id,
)
from orchestrator.domain.judging.verdict import Verdict, VerdictKind
from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.ownership.decisions import DecisionDraft
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import Attempt, AttemptMode, Exit, Handoff, Task, TaskStatus
from orchestrator.domain.text.blob_text import Text
from orchestrator.domain.transitions import FILE_TRANSITIONS, TASK_TRANSITIONS, IllegalTransition

START = datetime(2026, 1, 1, tzinfo=UTC)
API = TaskId("api")
COMMIT, TREE = CommitId("c" * 40), TreeId("t" * 40)


def record(*events: Event) -> list[RecordedEvent]:
    return [RecordedEvent(seq, START + timedelta(seconds=seq), event) for seq, event in enumerate(events, start=1)]


def created(task: TaskId = API) -> TaskCreated:
    return TaskCreated(task=task, spec=Task(id=task, parent=ROOT_TASK, depth=1, kind="leaf", title="t", outcome="o"))


def started(number: int = 1) -> AttemptStarted:
    return AttemptStarted(task=API, attempt=Attempt(task=API, number=number, mode="fresh", base=COMMIT, model="m"))


def ended(number: int = 1) -> AttemptEnded:
    return AttemptEnded(task=API, number=number, exit=Exit.FINISHED)


def judged(kind: VerdictKind, number: int = 1) -> VerdictGiven:
    return VerdictGiven(task=API, number=number, verdict=Verdict(kind=kind))


def landed(*units: UnitId) -> LandingFinished:
    return LandingFinished(key="land/x~0", branch="b", new=COMMIT, tree=TREE, units=units)


def test_a_task_goes_from_planned_to_merged() -> None:
    state = fold_events(record(created(), started(), ended(), judged(VerdictKind.MERGE), landed(build_unit_id(API, 1))))
    assert state.tasks[API].status == TaskStatus.MERGED
    assert state.landed_units == {build_unit_id(API, 1)}
    assert state.head == COMMIT


def test_a_revised_task_runs_again_with_its_next_attempt() -> None:
    state = fold_events(record(created(), started(), ended(), judged(VerdictKind.REVISE), started(2)))
    task = state.tasks[API]
    assert (task.status, task.attempt and task.attempt.number, task.verdict) == (TaskStatus.RUNNING, 2, None)


@pytest.mark.parametrize(("mode", "decided"), [("rebase", ["x", "y"]), ("fresh", ["y"])])
def test_what_lands_keeps_the_decisions_of_the_attempts_whose_work_it_holds(
    mode: AttemptMode, decided: list[str]
) -> None:
    ends = []
    for number, name in ((1, "x"), (2, "y")):
        handoff = Handoff(summary="done", decided=(DecisionDraft(id=name, text=f"{name} is so"),))
        ends.append(ended(number).model_copy(update={"handoff": handoff}))
    second = started(2).attempt.model_copy(update={"mode": mode})
    again = AttemptStarted(task=API, attempt=second)
    history = record(
        created(), started(), ends[0], judged(VerdictKind.REVISE), again, ends[1], judged(VerdictKind.MERGE, 2)
    )
    state = fold_events([*history, *record(landed(build_unit_id(API, 2)))])
    assert [decision.id for decision in state.register] == decided


def test_a_move_that_the_table_does_not_have_is_refused() -> None:
    with pytest.raises(IllegalTransition, match="api: planned cannot become judging"):
        fold_events(record(created(), ended()))


def test_nothing_leaves_a_terminal_status_but_a_woken_planner_what_is_tried_again_and_what_a_restart_leaves() -> None:
    ways = {status: TASK_TRANSITIONS[status] for status in TaskStatus if status.is_terminal}
    assert ways == {
        TaskStatus.MERGED: frozenset({TaskStatus.DISCARDED}),
        TaskStatus.DISCARDED: frozenset(),
        TaskStatus.DONE: frozenset({TaskStatus.PLANNING, TaskStatus.WAITING, TaskStatus.DISCARDED}),
        TaskStatus.UNFINISHED: frozenset(
            {TaskStatus.PLANNING, TaskStatus.WAITING, TaskStatus.PLANNED, TaskStatus.DISCARDED}
        ),
        TaskStatus.REJECTED: frozenset({TaskStatus.PLANNED}),
        TaskStatus.BLOCKED: frozenset({TaskStatus.PLANNED}),
        TaskStatus.SPLIT: frozenset({TaskStatus.PLANNED}),
        TaskStatus.CANCELLED: frozenset({TaskStatus.PLANNED, TaskStatus.WAITING}),
    }
    again = {FileStatus.DISCOVERED, FileStatus.SKIPPED, FileStatus.REVERTED}
    assert all(FILE_TRANSITIONS[status] <= again for status in FileStatus if status.is_terminal)


def test_an_intent_stays_open_until_its_done_event() -> None:
    begun = LandingStarted(key="land/x~0", branch="b", old=None, new=COMMIT, tree=TREE, units=())
    assert set(fold_events(record(begun)).open_intents) == {"land/x~0"}
    assert not fold_events(record(begun, landed())).open_intents
    assert not fold_events(record(begun, EffectAbandoned(key="land/x~0", reason="gone"))).open_intents


def test_each_try_of_an_effect_gets_a_key_of_its_own() -> None:
    begun = LandingStarted(key=build_effect_key("land/x", 0), branch="b", old=None, new=COMMIT, tree=TREE, units=())
    assert build_effect_key("land/x", fold_events(record(begun)).effect_tries["land/x"]) == "land/x~1"


def session(role: Role = "worker") -> SessionStarted:
    return SessionStarted(
        task=API, session=SessionId("s"), role=role, model="m", prompt="p", system=Text(), brief=Text()
    )


def replied(usage: Usage, turn: int = 0) -> ModelReplied:
    return ModelReplied(
        task=API,
        key=f"model/s/{turn}~0",
        session=SessionId("s"),
        turn=turn,
        role="worker",
        model="m",
        text=Text(),
        tool_calls=(),
        finish_reason="stop",
        usage=usage,
        seconds=0,
    )


def test_spending_is_summed_by_role_model_and_task_and_unknown_prices_stay_unknown() -> None:
    known = Usage(calls=1, input_tokens=10, output_tokens=5, cost_usd=Decimal("0.25"))
    unknown = Usage(calls=1, input_tokens=1, unpriced_calls=1)
    state = fold_events(record(created(), session(), replied(known), replied(unknown, 1)))
    total = known + unknown
    assert (
        state.spend.total
        == state.spend.by_role["worker"]
        == state.spend.by_model["m"]
        == state.spend.by_task[API]
        == total
    )
    assert total.cost_text == "$0.25 + unknown"
    assert Usage(calls=2, unpriced_calls=2).cost_text == "unknown"


def test_a_call_that_was_cut_off_is_counted_as_possibly_billed() -> None:
    from orchestrator.agent.model_calls import build_call_failure

    called = ModelCalled(task=API, key="model/s/0~0", session=SessionId("s"), turn=0, role="worker", model="m")
    state = fold_events(record(created(), session(), called, build_call_failure(called, "lost", "")))
    assert (state.spend.possibly_billed_calls, state.spend.total.calls, state.open_intents) == (1, 0, {})


@pytest.mark.attack(66)
@pytest.mark.parametrize("may_be_billed", [True, False])
def test_what_a_broken_reply_may_have_cost_counts_as_much_as_was_reserved(may_be_billed: bool) -> None:
    from orchestrator.agent.model_calls import build_call_failure

    reserved = Usage(calls=1, input_tokens=70, output_tokens=30, cost_usd=Decimal("0.5"))
    called = ModelCalled(
        task=API, key="model/s/0~0", session=SessionId("s"), turn=0, role="worker", model="m", reserved=reserved
    )
    failed = build_call_failure(called, "unavailable", "").model_copy(update={"may_be_billed": may_be_billed})
    state = fold_events(record(created(), session(), called, failed))
    assert (state.spend.possibly_billed_calls, state.spend.at_risk) == (
        (1, reserved) if may_be_billed else (0, Usage())
    )


def test_answers_are_counted_by_the_model_that_was_asked_and_the_longest_pause_of_a_pool_holds() -> None:
    from orchestrator.agent.model_calls import build_call_failure

    def called(number: int, model: str) -> ModelCalled:
        key = f"model/s/{number}~0"
        return ModelCalled(task=API, key=key, session=SessionId("s"), turn=number, role="worker", model=model)

    def failed(number: int, minutes: int) -> ModelFailed:
        opens = START + timedelta(minutes=minutes)
        lost = build_call_failure(called(number, "usual"), "rate-limited", "")
        return lost.model_copy(update={"pool": "openai", "opens_at": opens})

    spoken = replied(Usage(calls=1), 2).model_copy(update={"model": "calls-itself-so"})
    tries = [called(0, "usual"), failed(0, 9), called(1, "usual"), failed(1, 5), called(2, "spare"), spoken]
    state = fold_events(record(created(), session(), *tries))
    assert state.spend.answer_counts == {f"worker {API} usual": 2, f"worker {API} spare": 1}
    assert state.spend.provider_pauses == {"openai": START + timedelta(minutes=9)}


def test_wall_time_counts_only_while_a_process_worked() -> None:
    def at(seq: int, second: int, event: Event) -> RecordedEvent:
        return RecordedEvent(seq, START + timedelta(seconds=second), event)

    engine = [EngineStarted(epoch=n, pid=1, host="h", version="0") for n in (1, 2)]
    said = Noticed(level="info", text="x")
    state = fold_events([at(1, 0, engine[0]), at(2, 10, said), at(3, 500, engine[1]), at(4, 505, said)])
    assert state.wall_s == 15


def found(*paths: str) -> FilesFound:
    return FilesFound(files=tuple(FoundFile(path=path, blob=f"base-{path}", mode="100644") for path in paths))


def test_a_file_keeps_its_reason_when_it_is_rejected_at_the_end() -> None:
    moves = [
        FileMoved(path="a.py", status=FileStatus.RESTORED, rung=0, reason="does not parse", signature="s"),
        FileMoved(path="a.py", status=FileStatus.REJECTED, rung=0),
    ]
    file = fold_events(record(found("a.py"), *moves)).migration.files["a.py"]
    assert (file.status, file.reason, file.blob) == (FileStatus.REJECTED, "does not parse", None)


statuses = st.lists(st.tuples(st.sampled_from(["a.py", "b.py"]), st.sampled_from(FileStatus)), max_size=12)


@given(statuses)
def test_every_file_is_in_one_state_and_leaves_an_end_only_to_begin_anew(
    moves: list[tuple[str, FileStatus]],
) -> None:
    state, history = RunState(), record(found("a.py", "b.py"))
    for recorded in history:
        apply_recorded_event(state, recorded)
    for seq, (path, status) in enumerate(moves, start=2):
        before = state.migration.files[path].status
        event = FileMoved(path=path, status=status, rung=0)
        try:
            apply_recorded_event(state, RecordedEvent(seq, START, event))
        except IllegalTransition:
            assert state.migration.files[path].status == before
        else:
            assert not before.is_terminal or status in {"discovered", "skipped", "reverted"}
            assert state.migration.files[path].status == status
    assert set(state.migration.files) == {"a.py", "b.py"}


@given(st.integers(0, 6))
def test_folding_in_two_parts_is_folding_at_once(cut: int) -> None:
    history = record(created(), session(), started(), replied(Usage(calls=1)), ended(), judged(VerdictKind.MERGE))
    assert fold_events(history[cut:], onto=fold_events(history[:cut])) == fold_events(history)


def test_every_event_survives_being_stored() -> None:
    for event in (created(), started(), ended(), judged(VerdictKind.RESTART), landed(), session(), found("a.py")):
        assert parse_event(event.kind, event.v, format_event_body(event)) == event


def test_an_event_of_a_version_that_is_not_known_is_refused() -> None:
    body = format_event_body(created())
    with pytest.raises(UnknownEventError, match=r"'task.created' version 2: this program knows version \[1\]"):
        parse_event("task.created", 2, body)
    with pytest.raises(UnknownEventError, match="does not know the kind"):
        parse_event("task.invented", 1, body)


def test_kinds_are_unique_and_every_intent_has_a_done_event_of_its_family() -> None:
    assert len(EVENT_CLASSES) == len(set(EVENT_CLASSES.values()))
    families = {kind.split(".")[0] for (kind, _), cls in EVENT_CLASSES.items() if issubclass(cls, Done)}
    for (kind, _), cls in EVENT_CLASSES.items():
        if issubclass(cls, Intent):
            assert kind.split(".")[0] in families, kind


def test_a_baseline_of_receipts_that_were_never_recorded_is_refused() -> None:
    with pytest.raises(ValueError, match=r"baseline\.recorded names receipt 'x', which was never recorded"):
        fold_events(record(BaselineRecorded(receipts=("x",))))
