"""The fleet's rows: one for everything that is at work, waits or needs somebody, at each event of a run."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.event import Event, RecordedEvent, parse_event
from orchestrator.domain.event.migration import FileMoved
from orchestrator.domain.event.people import ApprovalDecided
from orchestrator.domain.event.run import RunPaused
from orchestrator.domain.event.work import ModelCalled, ModelFailed
from orchestrator.domain.fold.projection import apply_recorded_event, fold_events
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.run.state import RunState
from orchestrator.report.log.last_event import LastSessionEvent, find_last_session_event
from orchestrator.report.rows.activity import ACTIVITY_GLYPHS, STYLES, Activity
from orchestrator.report.rows.agent_row import AgentRow
from orchestrator.report.rows.fleet import STALL_S, build_fleet_rows, render_fleet_lines
from orchestrator.report.rows.row_filter import parse_filter
from orchestrator.tui.views.fleet import FLEET_ORDERS, FleetViewOptions
from tests.golden import DATA
from tests.running.journals import START, Fleet

WORKER = SessionId("task-000@1/worker")


@cache
def kept(name: str) -> tuple[RecordedEvent, ...]:
    rows = [json.loads(line) for line in (DATA / "journals" / f"{name}.jsonl").read_text().splitlines()]
    return tuple(
        RecordedEvent(seq, datetime.fromisoformat(at), parse_event(kind, version, json.dumps(body)))
        for seq, at, kind, version, body, *_ in rows
    )


def moments(events: Sequence[RecordedEvent]) -> Iterator[tuple[RunState, dict[SessionId, LastSessionEvent], datetime]]:
    """A run after each of its events, with what was heard last of each conversation."""
    state, heard = RunState(), dict[SessionId, list[RecordedEvent]]()
    for recorded in events:
        apply_recorded_event(state, recorded)
        if (session := getattr(recorded.event, "session", None)) is not None:
            heard.setdefault(session, []).append(recorded)
        seen = {session: find_last_session_event(own[-6:]) for session, own in heard.items()}
        yield state, {session: one for session, one in seen.items() if one}, recorded.at


class Run:
    """Some workers at work, and what happens to them next."""

    def __init__(self, tmp_path: Path, workers: int = 3) -> None:
        self._fleet = Fleet(tmp_path, workers)
        self._events = [RecordedEvent(seq, START, event) for seq, event in enumerate(self._fleet.begins(), 1)]
        self.state = fold_events(self._events)
        self.seen: dict[SessionId, LastSessionEvent] = {}

    def happens(self, *events: Event) -> None:
        for event in events:
            recorded = RecordedEvent(self.state.seq + 1, START, event)
            apply_recorded_event(self.state, recorded)
            if (session := getattr(event, "session", None)) and (seen := find_last_session_event([recorded])):
                self.seen[session] = seen

    def asks(self, number: int) -> None:
        self.happens(self._fleet.asks(number))

    def rows(self, after_s: float = 0.0, *, is_at_work: bool = True) -> list[AgentRow]:
        return build_fleet_rows(self.state, self.seen, START + timedelta(seconds=after_s), is_at_work=is_at_work)

    def doing(self, after_s: float = 0.0, *, is_at_work: bool = True) -> dict[str, str]:
        return {row.task: row.activity.value for row in self.rows(after_s, is_at_work=is_at_work)}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def called(turn: int = 0) -> ModelCalled:
    key = f"model/{WORKER}/{turn}~0"
    return ModelCalled(task=TaskId("task-000"), session=WORKER, key=key, turn=turn, role="worker", model="m")


@pytest.mark.parametrize("name", ["goal.v1", "goal.v2", "migration.v1"])
def test_at_every_event_of_a_run_all_that_is_not_at_rest_has_one_row(name: str) -> None:
    for state, seen, now in moments(kept(name)):
        rows = build_fleet_rows(state, seen, now)
        keys = [row.key for row in rows]
        assert len(keys) == len(set(keys))
        told = {row.task for row in rows}
        assert {task.spec.id for task in state.tasks.values() if not task.status.is_terminal} <= told
        assert [row.urgency for row in rows] == sorted(row.urgency for row in rows)
        waiting = [row for row in rows if row.last == "waits for its tasks"]
        assert all(row.activity in {Activity.RUN, Activity.STOP} for row in waiting)
        assert all(row.urgency >= Activity.QUEUE.urgency for row in waiting), "who works comes before who waits for it"
        assert set(state.migration.files) <= {row.id for row in rows if row.kind == "file"}


def test_a_landed_run_is_done_and_nothing_else() -> None:
    *_, (state, seen, now) = moments(kept("goal.v2"))
    assert {row.activity for row in build_fleet_rows(state, seen, now)} == {Activity.DONE}


def test_a_row_follows_what_is_under_way() -> None:
    told: dict[str, list[str]] = {}
    for state, seen, now in moments(kept("goal.v2")):
        for row in build_fleet_rows(state, seen, now):
            before = told.setdefault(row.task, [])
            if before[-1:] != [row.activity.value]:
                before.append(row.activity.value)
    assert [word for word in _FIRST_TIMES if word in told["reporting/csv"]] == list(_FIRST_TIMES)
    assert told["reporting/csv"][0] == "queue"
    assert told["reporting/csv"][-1] == "done"


_FIRST_TIMES = ("queue", "think", "run", "test", "judge", "merge", "done")


def test_who_waits_for_an_answer_comes_first_and_goes_on_after_it(run: Run) -> None:
    run.asks(2)
    first = run.rows()[0]
    assert (first.task, first.activity, first.kind) == ("task-002", Activity.ASK, "session")
    run.happens(ApprovalDecided(item="tier/task-002/2", decision="reject", by="ada"))
    assert set(run.doing().values()) == {"run"}  # also the planner, whose tasks are under way


def test_silence_is_a_stall_only_while_something_is_awaited(run: Run) -> None:
    assert run.doing(10 * STALL_S)["task-000"] == "run"
    run.happens(called())
    assert run.doing(STALL_S - 1)["task-000"] == "think"
    assert run.doing(STALL_S)["task-000"] == "stall"
    assert "no event for 4m" in run.rows(STALL_S)[0].last


def test_a_call_that_failed_is_tried_again(run: Run) -> None:
    asked = called()
    failed = ModelFailed(
        **{name: getattr(asked, name) for name in ("task", "session", "key", "turn", "role", "model")},
        error="overloaded", detail="busy", retry_in_s=3.0,
    )  # fmt: skip
    run.happens(asked, failed)
    assert run.doing(10 * STALL_S)["task-000"] == "retry"


def test_nothing_is_at_work_without_an_engine(run: Run) -> None:
    run.happens(called())
    assert set(run.doing(STALL_S, is_at_work=False).values()) == {"pause"}
    run.happens(RunPaused(reason="drained", exit=5))
    assert set(run.doing(STALL_S).values()) == {"pause"}


def test_an_unknown_price_is_never_a_number(run: Run) -> None:
    row = run.rows()[0]
    prices = [
        Usage(),
        Usage(calls=2, unpriced_calls=2),
        Usage(calls=2, unpriced_calls=1, cost_usd=Decimal("0.5")),
        Usage(calls=1, cost_usd=Decimal("0.004")),
    ]
    rows = [AgentRow(row.kind, row.id, row.name, row.activity, spent=spent) for spent in prices]
    assert [one.render_cells()["cost"] for one in rows] == ["-", "unknown", "$0.50 + unknown", "$0.00"]
    assert [one.get_filter_values()["cost"] for one in rows] == [0.0, None, 0.5, 0.004]


def test_a_filter_leaves_the_rows_that_fit(run: Run) -> None:
    run.asks(1)
    rows = run.rows()
    looking = FleetViewOptions(parse_filter("state:ask,stall task-001", list(rows[0].get_filter_values())))
    assert [row.task for row in looking.select_rows(rows)] == ["task-001"]
    assert list(render_fleet_lines(looking.select_rows(rows), len(rows)))[-1] == "1 of 4"


@given(order=st.sampled_from(FLEET_ORDERS), is_reversed=st.booleans(), is_whole=st.booleans())
def test_no_order_loses_a_row(order: str, is_reversed: bool, is_whole: bool) -> None:
    *_, (state, seen, now) = moments(kept("goal.v2")[:200])
    rows = build_fleet_rows(state, seen, now)
    shown = FleetViewOptions(order=order, is_reversed=is_reversed, is_whole=is_whole).select_rows(rows)
    assert sum(row.count for row in shown) == len(rows)


def test_files_at_rest_are_counted_and_failed_ones_have_rows() -> None:
    *_, (state, seen, now) = moments(kept("migration.v1"))
    whole = build_fleet_rows(state, seen, now)
    brief = build_fleet_rows(state, seen, now, is_whole=False)
    assert sum(row.count for row in brief) == len(whole) == len(state.migration.files)
    failed = {path for path, file in state.migration.files.items() if file.status.is_left_over}
    assert failed
    assert {row.id for row in brief if row.kind == "file"} == failed


def test_a_file_that_failed_on_a_rung_is_tried_again_while_the_run_goes_on() -> None:
    events = [one for one in kept("migration.v1") if one.event.kind in {"run.started", "files.found"}]
    state = fold_events(events)
    path = next(iter(state.migration.files))
    moved = FileMoved(path=path, status=FileStatus.RESTORED, rung=0, reason="does not parse")
    apply_recorded_event(state, RecordedEvent(state.seq + 1, START, moved))
    row = next(row for row in build_fleet_rows(state, {}, datetime.now(UTC)) if row.id == path)
    assert (row.activity, row.last) == (Activity.RETRY, "restored: does not parse")


def test_every_state_has_a_word_and_a_glyph_of_one_cell_of_its_own() -> None:
    assert (
        len({look.glyph for look in ACTIVITY_GLYPHS.values()})
        == len({look.plain for look in ACTIVITY_GLYPHS.values()})
        == len(Activity)
    )
    assert all(
        len(look.glyph) == 1 and len(look.plain) == 1 and look.plain.isascii() for look in ACTIVITY_GLYPHS.values()
    )
    assert {doing.style for doing in Activity} <= set(STYLES)
    assert all(doing.render_label(is_ascii=True).isascii() for doing in Activity)
