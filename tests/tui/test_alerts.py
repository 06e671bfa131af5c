"""Calling somebody: once for each thing that is new, not for what stood already, and with a quiet time in between."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config.layers import load_config
from orchestrator.domain.event.people import ApprovalRequested
from orchestrator.domain.event.run import RunPaused
from orchestrator.domain.ids import SessionId
from orchestrator.report.log.last_event import LastSessionEvent
from orchestrator.tui.app import Dashboard
from orchestrator.tui.settings import DashboardSettings
from orchestrator.tui.terminal.alerts import Alerts, collect_alert_messages, format_osc_9
from orchestrator.tui.view_model import Connection
from tests.tui.asking import AT_WORK, LANDING, LATER, Asking
from tests.tui.sources import Sent


class Clock:
    """Time that a test makes pass."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def names(
    source: Asking, *, seen: Mapping[SessionId, LastSessionEvent] | None = None, at_work: bool = True
) -> list[str]:
    connection = Connection.LIVE if at_work else Connection.IDLE
    view_model = replace(source.get_view_model(), last_session_events=seen or {}, connection=connection)
    return list(collect_alert_messages(view_model))


def test_questions_stops_stalls_and_budgets_are_news() -> None:
    source = Asking(AT_WORK)
    assert names(source) == []
    source.happens(RunPaused(reason="stopped by Ctrl-C", exit=130))
    assert names(Asking(LATER, LANDING)) == ["ask/landing/discounts@2"]
    assert names(source) == [f"paused/{source.state.epoch}"]
    waiting = Asking(AT_WORK)
    (session,) = {intent.session for intent in waiting.state.open_intents.values() if hasattr(intent, "session")}
    long_ago = LastSessionEvent(waiting.events[-1].at - timedelta(hours=1), "asked the model")
    assert names(waiting, seen={session: long_ago}) == [f"stall/session:{session}"]
    waiting.state.overrides = (*waiting.state.overrides, {"budget": {"tokens": waiting.state.spend.total.tokens}})
    assert [name.rpartition("/")[2] for name in names(waiting) if name.startswith("budget/tokens")] == ["1.0"]


def test_what_stood_at_first_calls_nobody_and_what_comes_while_it_is_quiet_is_told_together() -> None:
    clock = Clock()
    alerts = Alerts(30, clock)
    assert alerts.compose_alert({"ask/a": "asks: a"}) == ""
    assert alerts.compose_alert({"ask/a": "asks: a", "ask/b": "asks: b"}) == "asks: b"
    assert alerts.compose_alert({"ask/a": "asks: a", "ask/b": "asks: b", "ask/c": "asks: c"}) == ""
    clock.now = 10
    assert alerts.compose_alert({"ask/c": "asks: c", "ask/d": "asks: d", "stall/x": "x"}) == ""
    clock.now = 30
    assert alerts.compose_alert({"ask/c": "asks: c", "ask/d": "asks: d"}) == "asks: c (and 1 more)"
    clock.now = 90
    assert alerts.compose_alert({"ask/c": "asks: c", "ask/d": "asks: d"}) == ""


@given(st.lists(st.sets(st.sampled_from("abcd")), max_size=20))
def test_nothing_calls_twice_while_it_lasts(looks: list[set[str]]) -> None:
    alerts = Alerts(0, Clock())
    before: set[str] = looks[0] if looks else set()
    for number, look in enumerate(looks):
        words = alerts.compose_alert({name: name for name in sorted(look)})
        assert bool(words) == (number > 0 and bool(look - before))
        before = look


@pytest.mark.parametrize("wanted", [True, False])
async def test_the_terminal_rings_once_when_a_run_begins_to_ask_unless_that_is_off(wanted: bool) -> None:
    source = Asking(LATER)
    app = Dashboard(source, Sent().doors, DashboardSettings(bell=wanted, notifications=wanted))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        written: list[str] = []
        app.bell = lambda: written.append("\a")  # type: ignore[method-assign]  # a terminal without a screen rings not
        app._driver.write = written.append  # type: ignore[union-attr,method-assign]
        app.alert_user()
        source.happens(ApprovalRequested(approval=LANDING))
        app.update_from_source()
        app.alert_user()
        app.alert_user()
        rung = [text for text in written if text == "\a" or text.startswith("\x1b]9;")]
        assert [text[:4] for text in rung] == (["\a", "\x1b]9;"] if wanted else [])
        assert all(LANDING.title in text for text in rung[1:])


def test_a_notification_holds_no_control_characters_of_strangers() -> None:
    assert (
        format_osc_9("r", "asks: \x07\x1b]52;c;aGk=\x07 x\n4;1") == "\x1b]9;orchestrate r: asks: ]52;c;aGk= x 4;1\x07"
    )


def test_calls_are_configured_under_tui() -> None:
    settings = load_config(None).config.tui
    assert (settings.bell, settings.notifications, settings.quiet_s) == (True, True, 30)
