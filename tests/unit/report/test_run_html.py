"""The page of a run has a bound: what it does without when there is too much of it, it says."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.report.documents.run_html import MOST_BYTES, render_run_html
from tests.running.journals import fleet_journal
from tests.running.kept_runs import kept_run, report_of, reported
from tests.running.pages import tags_of


def test_of_two_hundred_workers_and_a_hundred_thousand_lines_the_page_is_small_and_says_where_the_rest_is(
    tmp_path: Path,
) -> None:
    state, report = reported(fleet_journal(tmp_path))
    page = render_run_html(report_of(report))
    tags_of(page)
    assert len(page.encode()) < MOST_BYTES
    for task in state.tasks:
        assert f"</b> {task} – " in page, task
    assert "lines before: orchestrate logs has them" in page
    assert "and 81 more tasks" in page
    assert "<b>Next:</b> <code>orchestrate approve fleet q1 (or reject)" in page


def many(tmp_path: Path) -> dict[str, Any]:
    """A goal with three hundred tasks; every tenth was rejected."""
    _, report = kept_run("goal.v2", tmp_path)
    task = next(one for one in report["tasks_by_tree"] if one["id"] == "discounts")
    said = [one | {"lines": ["x" * 200]} for one in task["said"]]
    tasks = [
        task | {"id": f"t{n}", "status": "rejected" if n % 10 == 0 else "merged", "said": said} for n in range(300)
    ]
    return report | {"tasks_by_tree": tasks}


@pytest.mark.parametrize(
    ("most", "said", "told", "rows"),
    [
        (5_000_000, 300, 300, 300),
        (1_100_000, 30, 300, 300),
        (850_000, 0, 300, 300),
        (300_000, 0, 30, 300),
        (100_000, 0, 30, 200),
    ],
)
def test_the_less_room_there_is_the_more_is_left_out_and_what_did_not_land_stays(
    most: int, said: int, told: int, rows: int, tmp_path: Path
) -> None:
    report = many(tmp_path)
    page = render_run_html(report_of(report), most)
    plan = page[page.index("<h2>Plan</h2>") : page.index("<h2>Tasks</h2>")]
    assert len(page.encode()) <= most
    assert page.count("x" * 200) == said * len(report["tasks_by_tree"][0]["said"])
    assert page.count('<details class="task">') == told
    assert (plan.count("<tr>") - 1, plan.count(">rejected</td>")) == (rows, 30)
    assert ("what was said at work that landed: orchestrate logs" in page) == (said < 300)
    assert (f"orchestrate report {report['run']} --data FILE" in page) == (said < 300)


def test_of_words_without_an_end_the_page_has_the_beginning(tmp_path: Path) -> None:
    _, report = kept_run("goal.v2", tmp_path)
    page = render_run_html(report_of(report | {"goal": "y" * 10_000_000}))
    assert len(page.encode()) < 200_000
    assert "… and 9,980,000 characters more" in page
