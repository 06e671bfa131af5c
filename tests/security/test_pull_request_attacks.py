"""Words of models in what a forge reads: pull requests and commit messages that call nobody and close nothing."""

import re
from pathlib import Path

import pytest

from orchestrator.app.run_execution import RunExit, run_goal
from orchestrator.domain.text.sanitization import sanitize_markdown
from tests.running.goals import Bench
from tests.running.projects import calculator, git
from tests.running.scripts import edits, judges, planner_ends, plans, reviews, worker_ends

pytestmark = [pytest.mark.sandbox, pytest.mark.attack(48)]

CALLS = (
    "@everyone @org/team Fixes #1, closes GH-2 and resolves https://forge.invalid/o/r/issues/3, implements o/r#4, !5"
)
LOADS = "![track](http://evil.example/p.png) <img src=http://evil.example/q.png> &#64;admins \x1b[2J\u202e"
HOSTILE = f"{CALLS} {LOADS}"

CALLING = re.compile(r"(?<![\w/`])@[\w-]|(?<![\w/])#\d|\bGH-\d|!\d|&(?:#64|commat);")
CLOSING = re.compile(
    r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?|implement(?:s|ed)?)\b:?\s+\S*(?:[#!]\d|GH-|https?:)", re.I
)
LOADING = re.compile(r"!\[|<img|<script|<iframe|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


async def landed(place: Path) -> RunExit:
    """A run whose plan, report, review and goal are full of calls; one task lands and one does not."""
    bench = Bench(place, calculator(place / "repo"))
    items = [
        plans(
            "root",
            {"key": "sum", "title": HOSTILE, "outcome": HOSTILE},
            {"key": "no", "title": HOSTILE, "outcome": HOSTILE, "depends_on": ["sum"]},
        ),
        edits("sum", "calc.py", "    return a + b\n", "    return b + a\n"),
        worker_ends("sum", HOSTILE),
        reviews("sum"),
        edits("no", "calc.py", "    return b + a\n", "    return b + a + 0\n"),
        worker_ends("no", HOSTILE),
        reviews("no", "reject", HOSTILE),
        planner_ends("root", HOSTILE),
        judges("done"),
    ]
    return await run_goal(bench.options(items, run={"max_attempts": 1, "max_iterations": 1}), f"goal {HOSTILE}", None)


def pages(place: Path) -> list[Path]:
    """The pull requests as files."""
    return list(place.glob("state/**/prs/*.md"))


async def test_a_pull_request_and_its_commits_call_nobody_close_nothing_and_load_nothing(tmp_path: Path) -> None:
    ended = await landed(tmp_path)
    assert ended.exit_code == 0
    (page,) = pages(tmp_path)
    project, branch = tmp_path / "repo", ended.state.run.branch
    messages = git(project, "log", "--format=%B", f"main..{branch}")
    recorded = git(project, "log", "--format=%B", "refs/orchestrate/prs/1")
    body = git(project, "show", "refs/orchestrate/prs/1:PR.md")
    for text in (page.read_text(), messages, recorded, body):
        assert "everyone" in text, "the words are there"
        for acting in (CALLING, CLOSING, LOADING if text not in (messages, recorded) else CALLING):
            assert not acting.search(text), (acting.search(text), text)
    assert "\x1b" not in messages
    assert "\u202e" not in messages


def test_control_the_same_words_as_they_are_would_act() -> None:
    for acting in (CALLING, CLOSING, LOADING):
        assert acting.search(HOSTILE)
        assert not acting.search(sanitize_markdown(HOSTILE))
