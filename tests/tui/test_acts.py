"""Acting from the dashboard: each command is sent once, can be taken back, and what ends something is confirmed."""

import time

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from orchestrator.domain.commands.definitions import Approve, Cancel, Command, Pause, Reject, Retry, SendBack
from orchestrator.domain.event.people import ApprovalRequested, CommandTaken
from orchestrator.domain.ids import TaskId
from orchestrator.tui.app import Dashboard
from orchestrator.tui.commands.command_bar import CommandBar
from orchestrator.tui.screens.command_dialogs import ConfirmationDialog, NoteDialog
from orchestrator.tui.settings import DashboardSettings
from orchestrator.tui.view_model import Connection
from tests.tui.asking import AT_WORK, LANDING, LATER, TIERS, Asking
from tests.tui.sources import Sent, dashboard, seen

TASKS = ("discounts", "reporting/monthly", "reporting/csv")


class Clock:
    """Time that passes when the test says so."""

    def __init__(self, app: Dashboard) -> None:
        self.now, self._acts = 0.0, app.command_bar
        self._acts.clock = lambda: self.now

    def passes(self, seconds: float) -> None:
        self.now += seconds
        self._acts.send_due_commands()


async def is_asked(app: Dashboard, pilot: Pilot[None]) -> bool:
    """Whether a confirmation comes up."""
    end = time.monotonic() + 60
    while not isinstance(app.screen, ConfirmationDialog) and time.monotonic() < end:
        await pilot.pause()
    return isinstance(app.screen, ConfirmationDialog)


async def types(app: Dashboard, pilot: Pilot[None], text: str) -> None:
    """Type a command into the palette."""
    await pilot.press(":")
    app.screen.query_one(Input).value = text
    await pilot.press("enter")


def said(app: Dashboard) -> list[str]:
    """What was told for some seconds, even if nobody can see it in a test."""
    return [one.message for one in app._notifications]


def held(app: Dashboard) -> str:
    return app.query_one(CommandBar).words if app.query_one(CommandBar).display else ""


async def test_an_approval_is_sent_once_however_often_it_is_pressed_and_wakes_an_engine() -> None:
    sent = Sent()
    source = Asking(LATER, LANDING)
    app = dashboard(source, sent)
    async with app.run_test(size=(120, 30)) as pilot:
        clock = Clock(app)
        await pilot.press("4", "a", "a")
        assert (sent.commands, held(app)) == ([], " approve q1 landing/discounts@2  in 5 s  u undo")
        clock.passes(4.9)
        assert sent.commands == []
        clock.passes(0.1)
        await pilot.press("a")
        clock.passes(60)
        assert (sent.commands, sent.woken > 0) == ([Approve(item=LANDING.item)], True)
        assert held(app) == " sent: approve q1 landing/discounts@2  until an engine takes it"
        at = source.events[-1].at
        source.happens(CommandTaken(key="key-1", by="ada", sent_at=at, command=sent.commands[0]))
        source.answered(LANDING.item)
        app.update_from_source()
        await pilot.press("a")
        clock.passes(60)
        await pilot.pause()
        assert len(sent.commands) == 1
        assert any("approve q1 landing/discounts@2: taken" in words for words in said(app))


async def test_what_is_taken_back_within_five_seconds_is_never_sent() -> None:
    sent = Sent()
    app = dashboard(Asking(LATER, LANDING), sent)
    async with app.run_test(size=(120, 30)) as pilot:
        clock = Clock(app)
        await pilot.press("4", "a")
        clock.passes(4)
        await pilot.press("u", "u")
        clock.passes(60)
        assert (sent.commands, sent.woken, held(app)) == ([], 0, "")


async def test_stopping_three_marked_workers_needs_their_number_to_be_typed() -> None:
    sent = Sent()
    app = dashboard(Asking(AT_WORK), sent)
    async with app.run_test(size=(120, 30)) as pilot:
        clock = Clock(app)
        await pilot.press("space", "space", "space")
        for keys in (["escape"], ["y", "enter", "escape"], ["2", "enter", "escape"], ["enter", "escape"]):
            await pilot.press("x")
            assert await is_asked(app, pilot)
            await pilot.press(*keys)
            clock.passes(60)
            assert (sent.commands, isinstance(app.screen, ConfirmationDialog)) == ([], False), keys
        await pilot.press("x")
        assert await is_asked(app, pilot)
        await pilot.press("3", "enter")
        clock.passes(60)
        assert sent.commands == [Cancel(task=TaskId(name)) for name in TASKS]


async def test_a_dangerous_command_is_confirmed_by_a_key_and_escape_sends_nothing() -> None:
    sent = Sent()
    app = dashboard(Asking(AT_WORK), sent)
    async with app.run_test(size=(80, 24)) as pilot:
        clock = Clock(app)
        for keys in (["escape"], ["n"], ["enter", "escape"]):
            await types(app, pilot, "cancel discounts")
            assert await is_asked(app, pilot)
            await pilot.press(*keys)
            await pilot.press("escape")
        clock.passes(60)
        assert sent.commands == []
        await types(app, pilot, "cancel discounts")
        assert await is_asked(app, pilot)
        await pilot.press("y")
        clock.passes(60)
        assert sent.commands == [Cancel(task=TaskId("discounts"))]


async def test_leaving_sends_what_is_held() -> None:
    sent = Sent()
    app = dashboard(Asking(LATER, LANDING), sent)
    async with app.run_test(size=(80, 24)) as pilot:
        Clock(app)
        await pilot.press("4", "a", "q")
    assert (sent.commands, sent.woken) == ([Approve(item=LANDING.item)], 1)


async def test_a_command_that_cannot_be_sent_is_told_and_not_sent_later() -> None:
    sent = Sent(refuses=True)
    app = dashboard(Asking(LATER, LANDING), sent)
    async with app.run_test(size=(120, 30)) as pilot:
        clock = Clock(app)
        await pilot.press("4", "a")
        clock.passes(5)
        sent.refuses = False
        clock.passes(60)
        await pilot.pause()
        assert sent.commands == []
        assert any("not sent: cannot write the inbox" in words for words in said(app))


@pytest.mark.parametrize("keys", [["a"], ["d"], ["b"], ["p"], ["r"], ["x"], ["K"], [":", *"pause", "enter"]], ids=str)
async def test_a_dashboard_that_may_only_look_sends_nothing_and_says_so(keys: list[str]) -> None:
    sent = Sent()
    app = dashboard(Asking(LATER, LANDING), sent, DashboardSettings(is_read_only=True))
    async with app.run_test(size=(120, 30)) as pilot:
        clock = Clock(app)
        await pilot.press("4", *keys)
        clock.passes(60)
        await pilot.pause()
        assert (sent.commands, isinstance(app.screen, NoteDialog | ConfirmationDialog)) == ([], False)
        assert any("read-only" in words for words in said(app))


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["d", *"no tests", "enter"], [Reject(item=LANDING.item, reason="no tests")]),
        (["d", "enter"], [Reject(item=LANDING.item)]),
        (["d", "escape"], []),
        (["b", "enter", "escape"], []),
        (["b", *"add one", "enter"], [SendBack(item=LANDING.item, note="add one")]),
        (["r", *"look at x", "enter"], [Retry(task=TaskId("discounts"), note="look at x")]),
        (["p"], [Pause()]),
    ],
    ids=str,
)
async def test_keys_act_on_what_is_chosen_with_a_note_where_one_belongs(
    keys: list[str], expected: list[Command]
) -> None:
    sent = Sent()
    app = dashboard(Asking(LATER, LANDING), sent)
    async with app.run_test(size=(80, 24)) as pilot:
        clock = Clock(app)
        await pilot.press("4", *keys)
        clock.passes(5)
        assert sent.commands == expected


async def test_what_makes_no_sense_now_is_refused_as_the_command_line_would() -> None:
    sent = Sent()
    app = dashboard(Asking(LATER, LANDING), sent)
    async with app.run_test(size=(120, 30)) as pilot:
        clock = Clock(app)
        await types(app, pilot, "retry nowhere")
        await pilot.pause()
        assert any("there is no task 'nowhere' in this run" in line for line in seen(app))
        assert app.screen.query_one(Input).value == "retry nowhere", "it can be mended"
        clock.passes(60)
        assert sent.commands == []


async def test_all_questions_of_a_matter_are_marked_at_once_and_answered_together() -> None:
    sent = Sent()
    source = Asking(AT_WORK, LANDING, *TIERS)
    app = dashboard(source, sent)
    async with app.run_test(size=(120, 30)) as pilot:
        clock = Clock(app)
        await pilot.press("4", "j", "*", "a")
        clock.passes(5)
        assert sent.commands == [Approve(item=one.item) for one in TIERS]
        source.happens(ApprovalRequested(approval=LANDING.model_copy(update={"item": "landing/x@9"})))
        app.update_from_source()
        await pilot.press("a")
        clock.passes(5)
        assert len(sent.commands) == 2, "the marks are still there, and what they mean is on its way"


async def test_nothing_is_sent_to_a_run_that_is_only_played_again() -> None:
    sent = Sent()
    source = Asking(LATER, LANDING)
    source.connection = Connection.REPLAY
    app = dashboard(source, sent)
    async with app.run_test(size=(80, 24)) as pilot:
        clock = Clock(app)
        await pilot.press("4", "a", "p")
        clock.passes(60)
        assert sent.commands == []
        assert any("this is a recording" in words for words in said(app))


async def test_an_engine_that_never_takes_anything_is_started_three_times_and_then_that_is_told() -> None:
    sent = Sent()
    app = dashboard(Asking(LATER, LANDING), sent)
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.pause()
        clock = Clock(app)
        await types(app, pilot, "approve q1")
        for _ in range(20):
            clock.passes(21.0)
        await pilot.pause()
        assert (len(sent.commands), sent.woken) == (1, 3)
        assert sum("no engine takes what was sent" in words for words in said(app)) == 1
