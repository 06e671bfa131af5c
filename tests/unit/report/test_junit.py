"""A run as JUnit XML: tasks, criteria and files are tests, the sums are those of the journal, no word breaks it."""

from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from orchestrator.domain.judging.check import TestOutcome
from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import TaskStatus
from orchestrator.judge.reports.junit import parse_junit
from orchestrator.report.documents.junit_xml import FailedTry, JunitCase, JunitSuite, render_junit_xml
from orchestrator.report.documents.run_junit import MOST_FILES, render_run_junit
from tests.running.journals import fleet_journal
from tests.running.kept_runs import kept_run, report_of, reported

PASSED = {TaskStatus.MERGED, TaskStatus.DONE}
FAILED = {TaskStatus.REJECTED, TaskStatus.BLOCKED}


def suites(report: dict[str, Any]) -> dict[str, ElementTree.Element]:
    root = ElementTree.fromstring(render_run_junit(report_of(report)))
    found = {suite.attrib["name"]: suite for suite in root}
    for count in ("tests", "failures", "errors", "skipped"):
        assert int(root.attrib[count]) == sum(int(suite.attrib[count]) for suite in root), count
    for suite in root:
        assert int(suite.attrib["tests"]) == len(suite.findall("testcase"))
        assert int(suite.attrib["failures"]) == len(suite.findall("testcase/failure"))
        assert int(suite.attrib["errors"]) == len(suite.findall("testcase/error"))
        assert int(suite.attrib["skipped"]) == len(suite.findall("testcase/skipped"))
    return found


def of_tasks(state: RunState, suite: ElementTree.Element) -> None:
    """The sums of the tasks are those of the journal's fold."""
    statuses = [task.status for task in state.tasks.values()]
    failed = int(suite.attrib["failures"]) + int(suite.attrib["errors"])
    assert int(suite.attrib["tests"]) == len(statuses)
    assert failed == sum(status in FAILED for status in statuses)
    assert int(suite.attrib["skipped"]) == sum(status not in PASSED | FAILED for status in statuses)


def test_a_goals_tests_are_its_outcome_its_criteria_and_its_tasks_with_earlier_attempts_as_reruns(
    tmp_path: Path,
) -> None:
    state, report = kept_run("goal.v2", tmp_path)
    found = suites(report)
    assert list(found) == ["run", "contract", "tasks"]
    assert int(found["contract"].attrib["tests"]) == len(state.goal.contract.criteria if state.goal.contract else ())
    of_tasks(state, found["tasks"])
    cases = {case.attrib["name"].partition(":")[0]: case for case in found["tasks"].iter("testcase")}
    for name, task in state.tasks.items():
        assert len(cases[name].findall("flakyFailure")) == max(0, len(task.attempts) - 1), name
    retried = cases["reporting/csv"]
    rerun = retried.find("flakyFailure")
    assert rerun is not None
    assert rerun.attrib["message"].startswith("attempt 1: diff: shop/export.py:5 joins values")
    assert "use the csv module" in rerun.findtext("stackTrace", "")
    assert "verdict: restart" in retried.findtext("system-out", "")


def test_a_migrations_files_are_tests_and_a_rejected_one_says_why(tmp_path: Path) -> None:
    state, report = kept_run("migration.v1", tmp_path)
    files = suites(report)["files"]
    wanted = Counter(file.status for file in state.migration.files.values() if file.status != FileStatus.NOTHING_TO_DO)
    assert int(files.attrib["tests"]) == wanted.total()
    assert int(files.attrib["failures"]) == sum(n for status, n in wanted.items() if status.is_left_over)
    told = [case for case in files if case.find("failure") is not None]
    assert [case.attrib["name"] for case in told] == ["shop/templates.py"]
    assert "breaks 2 tests" in told[0].find("failure").attrib["message"]  # type: ignore[union-attr]


def test_a_migration_of_very_many_files_has_a_test_for_each_shard(tmp_path: Path) -> None:
    _, report = kept_run("migration.v1", tmp_path)
    landed, rejected = (
        next(file for file in report["migration"]["files"] if file["status"] == status)
        for status in ("merged", "rejected")
    )
    files = [landed | {"path": f"{n}", "shard": f"s{n % 7}"} for n in range(MOST_FILES)]
    report["migration"]["files"] = [*files, rejected | {"shard": "s3"}]
    shards = suites(report)["shards"]
    assert [(case.attrib["name"], len(case.findall("failure"))) for case in shards.iter("testcase")] == [
        (f"s{n}", int(n == 3)) for n in range(7)
    ]
    assert "shop/templates.py: rejected" in (shards.findtext("testcase/failure") or "")


@pytest.mark.parametrize(
    ("changes", "tag"),
    [
        ({"outcome": "running", "exit": None}, "skipped"),
        ({"outcome": "paused", "exit": 5}, "error"),
        ({"outcome": "partial", "exit": 1}, "failure"),
        ({"outcome": "nothing-changed", "exit": 3}, "failure"),
    ],
)
def test_only_a_run_that_ended_well_passes(changes: dict[str, Any], tag: str, tmp_path: Path) -> None:
    _, report = kept_run("goal.v2", tmp_path)
    case = suites(report)["run"].find("testcase")
    assert case is not None
    assert not {child.tag for child in case} & {"failure", "error", "skipped"}
    changed = suites(report | changes)["run"].find(f"testcase/{tag}")
    assert changed is not None
    assert changed.attrib["message"].startswith(changes["outcome"])


def test_what_the_forge_checked_are_tests(tmp_path: Path) -> None:
    _, report = kept_run("goal.v2", tmp_path)
    checks = [
        {"name": name, "state": name, "summary": f"it {name}", "url": "https://forge.invalid/1"}
        for name in ("passed", "failed", "pending")
    ]
    seen = {"commit": "c", "words": "1 failed", "waiting": True, "checks": checks}
    found = suites(report | {"checks": seen})["checks"]
    assert {case.attrib["name"]: case[0].tag for case in found.iter("testcase")} == {
        "passed": "system-out",
        "failed": "failure",
        "pending": "skipped",
    }


def test_work_under_way_counts_as_skipped(tmp_path: Path) -> None:
    state, report = reported(fleet_journal(tmp_path, workers=5, lines=0, turns=1))
    found = suites(report)
    of_tasks(state, found["tasks"])
    assert found["tasks"].attrib["skipped"] == found["tasks"].attrib["tests"] == "6"


def test_trouble_that_says_nothing_of_the_work_is_an_error_and_its_tries_are_rerun_errors(tmp_path: Path) -> None:
    _, report = kept_run("goal.v2", tmp_path)
    task = next(one for one in report["tasks_by_tree"] if len(one["attempts"]) == 2)
    failed = task | {"status": "rejected", "cause": "not-tested", "reason": "no sandbox"}
    case = suites(report | {"tasks_by_tree": [failed]})["tasks"].find("testcase")
    assert case is not None
    assert [child.tag for child in case] == ["error", "rerunError", "system-out"]
    assert case.find("error").attrib == {"type": "not-tested", "message": "not-tested: no sandbox"}  # type: ignore[union-attr]


WORDS = st.text(st.characters(codec=None) | st.sampled_from("\x00\x08\ufffe\uffff\ud800]]><&\"'\x1b\x85"), max_size=40)


@given(words=WORDS)
def test_no_words_make_the_document_anything_but_well_formed(words: str) -> None:
    for outcome in ("UnexpectedSuccess", "xfail"):  # types of failures that readers take for xpassed and xfailed
        assume(outcome not in words)
    tried = FailedTry(words, words, words)
    cases = [
        JunitCase(words, f"{n}{words}", 1.5, result, words, words, words, words, (tried,))
        for n, result in enumerate(("passed", "failure", "error", "skipped"))
    ]
    text = render_junit_xml(words, "2026-01-01T10:00:00.5+00:00", {"run": words}, [JunitSuite("s", tuple(cases))])
    data = text.encode("utf-8")
    root = ElementTree.fromstring(data)
    assert root.attrib["tests"] == "4"
    parsed = parse_junit(data)
    assert not parsed.problem
    assert sorted(parsed.outcomes.values()) == sorted(
        (TestOutcome.PASSED, TestOutcome.FAILED, TestOutcome.ERROR, TestOutcome.SKIPPED)
    )


def test_very_many_tests_have_less_said_of_each() -> None:
    cases = tuple(JunitCase("c", str(n), 0.0, "failure", "k", "m", "d" * 9_000) for n in range(5_000))
    text = render_junit_xml("x", "2026-01-01T10:00:00+00:00", {}, [JunitSuite("s", cases)])
    assert len(text) < 20_000_000
    assert f">{'d' * 3_200}…<" in text
