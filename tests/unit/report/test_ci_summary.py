"""The summary of a run for the page of a CI job: what matters is there, and it is never larger than the page takes."""

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.report.documents.ci_summary import MOST_BYTES, fit_to_bytes, render_step_summary
from tests.running.journals import fleet_journal
from tests.running.kept_runs import kept_run, report_of, reported

WHERE = "`orchestrate report`"


def test_a_goals_summary_has_outcome_next_step_contract_cost_and_every_task(tmp_path: Path) -> None:
    state, report = kept_run("goal.v2", tmp_path)
    text = render_step_summary(report_of(report))
    assert text.startswith(f"## {report['repository']}: {state.ended.outcome if state.ended else ''}\n")
    assert re.findall(r"^### .*$", text, re.MULTILINE) == ["### Pull requests", "### Contract", "### Cost", "### Tasks"]
    assert f"**Next:** `{report['next'].partition(':')[0]}`" in text
    for task in state.tasks:
        assert f"| `{task}` |" in text
    for one in report["contract"]:
        assert f"| {one['id']} | ✓ met |" in text


def test_a_migrations_summary_has_its_progress_and_every_file_that_did_not_land(tmp_path: Path) -> None:
    state, report = kept_run("migration.v1", tmp_path)
    text = render_step_summary(report_of(report))
    left = [file.path for file in state.migration.files.values() if file.status.is_left_over]
    assert left
    assert f"### Files that did not land ({len(left)})" in text
    for path in left:
        assert f"| `{path}` |" in text
    assert "files landed" in text
    assert report["next"].startswith("orchestrate migrate report")


def test_the_forges_checks_are_there_with_what_they_say(tmp_path: Path) -> None:
    _, report = kept_run("goal.v2", tmp_path)
    check = {"name": "unit | @all", "state": "failed", "summary": "2 tests fail", "url": "https://forge.invalid/1"}
    checks = {"commit": "c", "words": "1 failed", "waiting": False, "checks": [check]}
    text = render_step_summary(report_of(report | {"checks": checks}))
    assert "| unit \\| @\u200ball | failed | 2 tests fail | https://forge.invalid/1 |" in text


def test_of_a_run_with_more_tasks_than_a_page_takes_the_summary_says_how_many_lines_are_left_out(
    tmp_path: Path,
) -> None:
    _, report = reported(fleet_journal(tmp_path, workers=40, lines=0, turns=1))
    said = "ends with “quotes” and 漢字 " * 12
    many = [task | {"id": f"{task['id']}-{n}", "reason": said} for n in range(60) for task in report["tasks_by_tree"]]
    text = render_step_summary(report_of(report | {"tasks_by_tree": many}))
    assert MOST_BYTES - 1_000 < len(text.encode()) <= MOST_BYTES
    told = re.search(r"_([0-9]+) lines are left out here: `orchestrate report fleet --html FILE` has all", text)
    assert told
    assert int(told[1]) + text.count("\n| `") == len(many)
    assert "**Next:** `orchestrate approve fleet" in text, "what a person must do is above what is cut"


def test_what_did_not_land_comes_first(tmp_path: Path) -> None:
    _, report = kept_run("goal.v2", tmp_path)
    first, last = report["tasks_by_tree"][0], report["tasks_by_tree"][-1]
    text = render_step_summary(report_of(report | {"tasks_by_tree": [first, last | {"status": "rejected"}]}))
    assert text.index(f"| `{last['id']}` | rejected") < text.index(f"| `{first['id']}` |")


SAID = frozenset({"goal", "title", "reason", "text", "evidence", "path", "url", "signature", "flag", "outcome", "next"})


def _hostile(value: Any, words: str, key: str = "") -> Any:
    """The same with hostile words after every text that somebody else wrote."""
    if isinstance(value, dict):
        return {name: _hostile(item, words, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_hostile(item, words, key) for item in value]
    return f"{value} {words}" if isinstance(value, str) and key in SAID else value


@pytest.mark.parametrize("name", ["goal.v2", "migration.v1"])
def test_nothing_that_others_wrote_comes_alive_in_a_summary(name: str, tmp_path: Path) -> None:
    _, report = kept_run(name, tmp_path)
    words = "@someone fixes #1 | ![x](https://evil.example) <script>alert(1)</script> `code` \x1b[31m\u202e\n## no"
    text = render_step_summary(report_of(_hostile(report, words) | {"outcome": report["outcome"]}))
    bare = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text)
    assert "@someone" not in bare
    assert "<script" not in bare
    assert "fixes #1" not in bare
    assert "![" not in bare
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e]", text)
    assert "\n## no" not in text


@given(text=st.text(alphabet="aé漢\n\r\u2028", max_size=300), most=st.integers(200, 400))
def test_what_is_cut_fits_and_every_line_is_there_or_counted(text: str, most: int) -> None:
    cut = fit_to_bytes(f"head\n{text}", most, WHERE)
    assert len(cut.encode()) <= most
    told = re.search(r"_([0-9]+) lines are left out", cut)
    if told is None:
        assert cut == f"head\n{text}"
    else:
        kept = cut[: told.start()].removesuffix("\n\n")
        lines = f"head\n{text}".splitlines()
        assert kept.splitlines() == lines[: len(lines) - int(told[1])]


def test_too_few_bytes_for_any_summary_are_refused() -> None:
    with pytest.raises(ValueError, match="too few"):
        fit_to_bytes("word " * 100, 60, WHERE)
