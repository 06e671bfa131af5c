"""The report of a whole run as a page: complete, self-contained, and inert whatever models and people wrote."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from orchestrator.app.run_execution import RunExit
from tests.running.cli import environment
from tests.running.goals import Bench
from tests.running.in_process import orchestrate
from tests.running.pages import HOSTILE, tags_of
from tests.running.scripts import judges, planner_ends, plans, reviews, worker_ends, writes


async def _ended(bench: Bench) -> RunExit:
    return await bench.run(
        plans("root", {"key": "a", "title": f"first {HOSTILE}"}, {"key": "b", "depends_on": ["a"]}),
        writes("a", "a.txt", "a\n"),
        worker_ends("a", f"made a {HOSTILE}"),
        reviews("a", "restart", f"not like this {HOSTILE}"),
        writes("a", "a.txt", "aa\n"),
        worker_ends("a"),
        reviews("a"),
        writes("b", "b.txt", "b\n"),
        worker_ends("b"),
        reviews("b"),
        planner_ends(),
        judges(),
    )


def _reported(bench: Bench, *words: str | Path) -> Any:
    return orchestrate(
        "report", "--state", bench.root / "state", *words, cwd=bench.repository, env=environment(bench.root)
    )


async def test_a_page_holds_the_whole_run_and_nothing_that_others_wrote_comes_alive(bench: Bench) -> None:
    ended = await _ended(bench)
    assert ended.state.ended
    page, data, tests, found, summary = (bench.root / f"r.{kind}" for kind in ("html", "json", "xml", "sarif", "md"))

    done = _reported(bench, "--html", page, "--data", data, "--junit", tests, "--sarif", found, "--summary", summary)

    assert (done.code, done.out) == (0, ""), done.err
    text = page.read_text()
    tags_of(text)
    for wanted in (
        "first &lt;/details&gt;",
        "Timeline",
        "attempt 2",
        "restarted",
        "Contract",
        "Wasted work",
        "How to",
    ):
        assert wanted in text, wanted
    report = json.loads(data.read_text())
    first = next(task for task in report["tasks_by_tree"] if task["id"] == "a")
    assert [(one["number"], one["fate"]) for one in first["attempts"]] == [(1, "restarted"), (2, "landed")]
    assert first["attempts"][1]["candidate"]["paths"] == ["a.txt"]
    assert first["receipts"]
    assert first["attempts"][0]["summary"].startswith("made a </details>")
    assert any("→ finish" in line for said in first["said"] for line in said["lines"])
    assert [one["task"] for one in report["timeline"] if not one["is_planning"]] == ["a", "a", "b"]
    assert all(one["end_s"] is not None for one in report["timeline"])
    assert report["cost"]["waste"]
    cases = {case.attrib["name"].partition(":")[0]: case for case in ElementTree.parse(tests).iter("testcase")}
    assert not [case for case in cases.values() if case.find("failure") is not None]
    assert [name for name, case in cases.items() if case.find("flakyFailure") is not None] == ["a"]
    results = json.loads(found.read_text())["runs"][0]["results"]
    voted = [(one["ruleId"], one["properties"]) for one in results if one["ruleId"] != "unguarded"]
    assert voted == [("review/diff", {"task": "a", "attempt": 1})]
    assert "<script" not in summary.read_text()
    assert report["reproduce"][-1] == f"orchestrate replay {ended.state.run.run} --offline"


async def test_the_markdown_mentions_nobody_and_ends_in_no_table(bench: Bench) -> None:
    await bench.run(
        plans("root", {"key": "a", "title": "ask @someone | fixes #1"}),
        writes("a", "a.txt", "a\n"),
        worker_ends("a"),
        reviews("a"),
        planner_ends(),
        judges(),
    )

    done = _reported(bench, "--md", "-")

    assert done.code == 0
    assert done.out.startswith("## repo: done\n")
    row = next(line for line in done.out.splitlines() if "`a`" in line)
    assert "@someone" not in row
    assert "fixes #1" not in row
    assert len(re.findall(r"(?<!\\)\|", row)) == 7


@pytest.mark.parametrize(
    "words", [("--all", "--html", "x.html"), ("latest", "a", "--md", "x.md"), ("--html", "-", "--md", "-")]
)
def test_forms_that_cannot_be_made_are_refused_in_words(bench: Bench, words: tuple[str, ...]) -> None:
    done = _reported(bench, *words)

    assert done.code == 2
    assert "Traceback" not in done.err
    assert not Path(bench.repository, "x.html").exists()
