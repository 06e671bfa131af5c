"""The line of hosts in the dashboard: only where hosts have joined, those that need a look first, cut to any width."""

import pytest

from orchestrator.domain.event.hosts import HostJoined, HostMarked
from orchestrator.tui.host_line import build_host_line
from orchestrator.tui.panes.text import copy_state_for_receipts
from orchestrator.tui.rows.subject_details import render_subject_headline, resolve_subject
from orchestrator.tui.widgets.styled_text import get_raw_text
from tests.running.goal_events import begun, recorded, told
from tests.running.hosts import TESTED, two_hosts
from tests.tui.sources import Still, dashboard, seen

WORDS = "hosts 1/2 joined, 8 slots  build-2 LOST  build-1 2/8"


def render(width: int, *, is_at_work: bool = True) -> str:
    return get_raw_text(list(build_host_line(told(*two_hosts()), width, is_at_work=is_at_work)))


def test_hosts_stand_in_a_line_with_slots_and_what_is_open_and_the_lost_first() -> None:
    assert render(120) == WORDS
    assert render(120, is_at_work=False) == "hosts 0/2 joined, 0 slots  build-2 LOST  build-1 left"


@pytest.mark.parametrize(
    ("width", "words"), [(50, "hosts 1/2 joined, 8 slots  build-2 LOST  +1 more"), (30, "+2 more")]
)
def test_hosts_that_do_not_fit_are_counted(width: int, words: str) -> None:
    assert render(width).endswith(words)


def test_a_host_that_is_kept_off_says_so() -> None:
    state = told(HostJoined(name="a", slots=2), HostMarked(name="a", mark="draining"))
    assert get_raw_text(list(build_host_line(state, 80, is_at_work=True))).endswith("a draining 0/2")


def test_a_task_that_is_looked_at_whole_names_the_hosts_of_its_attempt() -> None:
    state = told(*two_hosts())
    spans = render_subject_headline(state, resolve_subject(state, "task", "index"), None)
    assert "attempt 1, on build-2, then build-1" in get_raw_text(list(spans))


def test_the_checks_of_a_task_name_their_host() -> None:
    state = told(*two_hosts())
    part = copy_state_for_receipts(state, list(state.receipts.values()))
    assert part.hosts.find_check_host(TESTED) == "build-1"
    assert part.hosts.check_hosts.keys() == {TESTED}


@pytest.mark.parametrize(("size", "is_shown"), [((120, 30), True), ((60, 14), False)])
async def test_the_dashboard_shows_hosts_below_its_gauges_where_there_is_room(
    size: tuple[int, int], is_shown: bool
) -> None:
    app = dashboard(Still(tuple(recorded([*begun(), *two_hosts()]))))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        assert (WORDS in seen(app)) == is_shown


async def test_a_dashboard_of_a_run_without_hosts_has_no_line_for_them() -> None:
    app = dashboard()
    async with app.run_test(size=(120, 30)) as pilot:
        await pilot.pause()
        assert not any("hosts" in line for line in seen(app))
