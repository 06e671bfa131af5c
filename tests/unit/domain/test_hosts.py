"""Hosts in the fold: which are there, what stands on them, and commands about them."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.commands.definitions import Cordon, Drain, HostCommand, Uncordon
from orchestrator.domain.commands.goal import explain_refusal
from orchestrator.domain.commands.hosts import build_mark_event
from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.event.hosts import HostJoined, HostLeft, HostMarked
from orchestrator.domain.event.run import EngineStarted, RunEnded
from orchestrator.domain.event.work import WorkspaceLeased, WorkspaceLeasing
from orchestrator.domain.fold.projection import fold_events
from orchestrator.domain.hosts.record import PRESENT_STATUSES, HostRecord
from orchestrator.domain.hosts.table import HostTable
from orchestrator.domain.ids import CommitId, TaskId, UnitId
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.run.state import RunState

START = datetime(2026, 1, 1, tzinfo=UTC)
COMMIT = CommitId("c" * 40)
NAMES = st.sampled_from(["a", "b"])
HOST_EVENTS: st.SearchStrategy[Event] = st.one_of(
    st.builds(HostJoined, name=NAMES, slots=st.integers(0, 9)),
    st.builds(HostLeft, name=NAMES, cause=st.sampled_from(["lost", "drained", "closed", "refused"])),
    st.builds(HostMarked, name=NAMES, mark=st.sampled_from(["cordoned", "draining", "ready"])),
    st.builds(EngineStarted, epoch=st.just(1), pid=st.just(1), host=st.just("h"), version=st.just("0")),
)


def fold(*events: Event) -> RunState:
    recorded = [RecordedEvent(seq, START + timedelta(seconds=seq), event) for seq, event in enumerate(events, start=1)]
    return fold_events(recorded)


def get_host(*events: Event) -> HostRecord:
    return fold(*events).hosts.records["a"]


JOINED, LOST = HostJoined(name="a", slots=4, address="10.0.0.7:41", version="1.2"), HostLeft(name="a", cause="lost")
CORDONED, DRAINING = HostMarked(name="a", mark="cordoned"), HostMarked(name="a", mark="draining")
ENDED = RunEnded(outcome="done", exit=0, reason="", head=COMMIT)
RESUMED = EngineStarted(epoch=2, pid=1, host="h", version="0")


@given(st.lists(HOST_EVENTS, max_size=12))
def test_any_order_of_events_folds_to_hosts_that_are_there_or_have_left(events: list[Event]) -> None:
    state = fold(*events)
    assert state.hosts.records.keys() == {
        event.name for event in events if isinstance(event, HostJoined | HostLeft)
    }  # a mark alone makes no host
    for name, record in state.hosts.records.items():
        own = [event for event in events if isinstance(event, EngineStarted) or getattr(event, "name", "") == name]
        assert record.losses <= sum(isinstance(event, HostLeft) and event.cause == "lost" for event in own)
        assert record.is_present == (record.status in PRESENT_STATUSES) == (record.left_at is None)
        assert record.status not in {"cordoned", "draining"} or record.is_kept_off
        assert record.status != "ready" or not record.is_kept_off
        if isinstance(own[-1], HostJoined):
            assert (record.is_present, record.slots, record.status) == (True, own[-1].slots, own_status(record))
        if isinstance(own[-1], EngineStarted) or (isinstance(own[-1], HostLeft) and own[-1].cause != "refused"):
            assert not record.is_present


def own_status(record: HostRecord) -> str:
    return "cordoned" if record.is_kept_off else "ready"


def test_a_joined_host_is_known_with_all_that_it_said() -> None:
    expected = HostRecord(name="a", slots=4, status="ready", address="10.0.0.7:41", version="1.2",
                          joined_at=START + timedelta(seconds=1))  # fmt: skip
    assert get_host(JOINED) == expected


def test_a_lost_host_counts_its_losses_once_each_and_is_ready_when_it_joins_again() -> None:
    lost = get_host(JOINED, LOST, LOST, JOINED, LOST)
    assert (lost.status, lost.losses) == ("lost", 2)
    assert get_host(JOINED, LOST, JOINED).status == "ready"


@pytest.mark.parametrize("gone", [LOST, RESUMED], ids=["lost", "engine"])
@pytest.mark.parametrize("mark", [CORDONED, DRAINING], ids=["cordoned", "draining"])
def test_a_host_that_a_person_keeps_off_stays_cordoned_when_it_joins_again(gone: Event, mark: Event) -> None:
    assert get_host(JOINED, mark, gone, JOINED).status == "cordoned"


def test_a_drained_host_is_used_again_when_somebody_has_it_join_again() -> None:
    drained = HostLeft(name="a", cause="drained")
    assert get_host(JOINED, DRAINING, drained).status == "drained"
    assert get_host(JOINED, DRAINING, drained, JOINED).status == "ready"


def test_a_stranger_under_the_name_of_a_joined_host_changes_nothing_of_it() -> None:
    refused = HostLeft(name="a", cause="refused", reason="version 1 is not 2")
    assert get_host(JOINED, refused) == get_host(JOINED)
    assert (get_host(refused).status, get_host(refused).reason) == ("refused", "version 1 is not 2")


def lease(purpose: Purpose, host: str, key: str) -> list[Event]:
    leasing = WorkspaceLeasing(key=key, purpose=purpose.text, commit=COMMIT, facts=purpose.facts)
    return [leasing, WorkspaceLeased(key=key, name="w", host=host)]


def test_the_hosts_of_attempts_checks_and_planners_are_known_by_what_their_workspaces_are_for() -> None:
    attempt = Purpose.for_attempt(TaskId("x"), 1)
    hosts = fold(
        JOINED,
        *lease(attempt, "a", "workspace/1~0"),
        *lease(attempt.for_check_run("check/pytest/t~0"), "b", "workspace/2~0"),
        *lease(attempt, "", "workspace/3~0"),
        *lease(Purpose.for_planning(TaskId("root")), "b", "workspace/4~0"),
        *lease(Purpose("hook before_land"), "b", "workspace/5~0"),
    ).hosts
    assert hosts.find_attempt_hosts(UnitId("x@1")) == ("a", "")
    assert (hosts.find_check_host("check/pytest/t~0"), hosts.find_check_host("check/other/t~0")) == ("b", "")
    assert hosts.planner_hosts == {"root": "b"}


def test_a_run_without_hosts_keeps_nothing_of_them() -> None:
    assert fold(*lease(Purpose.for_attempt(TaskId("x"), 1), "", "workspace/1~0")).hosts == HostTable()


@pytest.mark.parametrize(
    ("events", "command", "refusal"),
    [
        ([], Cordon(host="a"), "there is no host 'a': no host has joined this run"),
        ([JOINED], Cordon(host="z9"), "there is no host 'z9' in this run; the hosts of this run: a"),
        ([HostJoined(name="build-1", slots=1)], Drain(host="buil-1"), "did you mean build-1?"),
        ([JOINED, LOST], Drain(host="a"), "host a was lost at 00:00:02 UTC; say it again when the host has joined"),
        ([JOINED, HostLeft(name="a", cause="drained")], Uncordon(host="a"), "host a was drained and has left"),
        ([JOINED, CORDONED], Cordon(host="a"), "host a is cordoned already"),
        ([JOINED, DRAINING], Drain(host="a"), "host a is being drained already"),
        ([JOINED, DRAINING], Cordon(host="a"), "host a is being drained: it gets nothing new"),
        ([JOINED], Uncordon(host="a"), "host a is neither cordoned nor being drained"),
        ([JOINED, ENDED], Cordon(host="a"), "the run has ended: done"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Cordon | Uncordon | Drain) else "",
)  # fmt: skip
def test_a_command_about_a_host_that_makes_no_sense_is_refused(
    events: list[Event], command: HostCommand, refusal: str
) -> None:
    assert refusal in explain_refusal(fold(*events), command)


@pytest.mark.parametrize(
    ("before", "command", "after"),
    [
        ([], Cordon(host="a"), "cordoned"),
        ([], Drain(host="a"), "draining"),
        ([CORDONED], Drain(host="a"), "draining"),
        ([CORDONED], Uncordon(host="a"), "ready"),
        ([DRAINING], Uncordon(host="a"), "ready"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Cordon | Uncordon | Drain) else "",
)  # fmt: skip
def test_a_command_about_a_host_is_recorded_as_a_mark(before: list[Event], command: HostCommand, after: str) -> None:
    state = fold(JOINED, *before)
    assert explain_refusal(state, command) == ""
    mark = build_mark_event(command, "anna")
    assert (fold(JOINED, *before, mark).hosts.records["a"].status, mark.by) == (after, "anna")
