"""What the judge found in a run, as SARIF: with rule, weight and place, and excused where it asks for nothing more."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_sarif.model import StaticAnalysisResultsFormatSarifVersion210JsonSchema as SarifLog

from orchestrator import __version__
from orchestrator.domain.event import Event
from orchestrator.domain.judging.verdict import Finding, LensVote, PointFinding
from orchestrator.report.documents.run_report import collect_run_report
from orchestrator.report.documents.run_sarif import GRANTED_EXCUSE, MOST_RESULTS, build_run_sarif, find_places
from tests.running.goal_events import begun, created, ended, judged, merged, recorded, told, worked
from tests.running.kept_runs import KEPT_RUNS, kept_run, report_of


def log_of(report: dict[str, Any]) -> dict[str, Any]:
    """The log, which is as the schema of SARIF 2.1.0 has it; of that one run."""
    text = json.dumps(build_run_sarif(report_of(report), __version__).as_object())
    SarifLog.model_validate_json(text)
    run: dict[str, Any] = json.loads(text)["runs"][0]
    ids = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(ids) == len(set(ids))
    assert {result["ruleId"] for result in run["results"]} == set(ids)
    return run


def report_of_events(*events: Event) -> dict[str, Any]:
    everything = recorded([*begun(), *events])
    return collect_run_report(
        told(*events),
        Path("journal.db"),
        lambda kinds: (one for one in everything if one.event.kind in kinds),
        lambda _: b"",
    ).as_object()


def results(*events: Event) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = log_of(report_of_events(*events))["results"]
    return found


def where(result: dict[str, Any]) -> list[tuple[str, int | None]]:
    """The places of a result, the location first."""
    places = [one["physicalLocation"] for one in (*result.get("locations", ()), *result.get("relatedLocations", ()))]
    return [(one["artifactLocation"]["uri"], one.get("region", {}).get("startLine")) for one in places]


def excuse(result: dict[str, Any]) -> str:
    return "; ".join(one["justification"] for one in result.get("suppressions", ()))


@pytest.mark.parametrize("name", KEPT_RUNS)
def test_the_log_of_a_kept_run_is_valid(name: str, tmp_path: Path) -> None:
    _, report = kept_run(name, tmp_path)
    run = log_of(report)
    assert run["automationDetails"] == {"id": f"orchestrate/{report['run']}"}
    assert run["properties"]["head"] == report["head"]


def test_reasons_of_a_journal_without_findings_are_there_by_cause_and_reviewer(tmp_path: Path) -> None:
    _, report = kept_run("goal.v2", tmp_path)
    by_task = {(one["properties"]["task"], one["ruleId"]): one for one in log_of(report)["results"]}
    red, review = by_task["discounts", "revise"], by_task["reporting/csv", "review/diff"]
    assert red["message"]["text"].startswith("2 tests that passed on the base fail now")
    assert where(review) == [("shop/export.py", 5)]
    assert excuse(review) == "this work did not land: restarted"
    assert excuse(red) == "a later attempt went on from this one, and was judged anew"


def test_what_a_rule_saw_in_work_that_landed_is_a_warning_at_its_line() -> None:
    flag = Finding(rule="addressed", text="a.py:7 speaks to whoever reviews it", is_blocking=False)
    granted = Finding(rule="forgery", text="a.py:3 imports _pytest", is_blocking=False, is_granted=True)
    first, second = results(
        created("a"), *worked("a"), judged("a", "merge", findings=(flag, granted)), *merged("a")[-2:]
    )
    assert (first["ruleId"], first["level"], where(first), excuse(first)) == ("addressed", "warning", [("a.py", 7)], "")
    assert (second["ruleId"], where(second), excuse(second)) == ("forgery", [("a.py", 3)], GRANTED_EXCUSE)


def test_a_finding_is_where_its_fields_say_whatever_its_words_name() -> None:
    seen = Finding(rule="layout", text="b.py:1 looks like a.py:7", is_blocking=False, path="a.py", line=3)
    (found,) = results(created("a"), *worked("a"), judged("a", "merge", findings=(seen,)), *merged("a")[-2:])
    assert where(found) == [("a.py", 3)]


def test_what_kept_work_from_landing_is_an_error_and_excused_because_it_is_not_on_the_branch() -> None:
    rule = Finding(rule="suppression", text="a.py:2, a.py:9 silences a tool", is_blocking=True)
    verdict = judged("a", "reject", reasons=(rule.text,), findings=(rule,))
    (found,) = results(created("a"), *worked("a"), verdict, ended("a", "rejected", "no"))
    assert (found["ruleId"], found["level"], where(found)) == ("suppression", "error", [("a.py", 2), ("a.py", 9)])
    assert excuse(found) == "this work did not land: rejected"


def test_a_reviewers_unmet_points_are_there_with_the_lines_that_show_them() -> None:
    point = PointFinding(id="A1", met=False, evidence=("a.py:4-6",))
    vote = LensVote(lens="diff", model="m", decision="reject", reasons=("it drops the header",), findings=(point,))
    verdict = judged("a", "reject", reasons=("diff: it drops the header",), votes=(vote,))
    said, unmet = results(
        created("a", acceptance=("the header stays",)), *worked("a"), verdict, ended("a", "rejected", "no")
    )
    assert said["message"]["text"] == "it drops the header"
    assert unmet["message"]["text"] == "A1 is not met: the header stays (shown by a.py:4-6)"
    assert (unmet["ruleId"], where(unmet)) == ("review/diff", [("a.py", 4)])


def test_of_too_many_findings_the_excused_ones_are_left_out_first_and_counted(tmp_path: Path) -> None:
    _, report = kept_run("goal.v2", tmp_path)
    task = next(one for one in report["tasks_by_tree"] if one["attempts"])
    flags = [f"flag {n}" for n in range(MOST_RESULTS)]
    attempt = task["attempts"][-1] | {"fate": "landed"}
    attempt["verdicts"] = [attempt["verdicts"][-1] | {"flags": flags, "findings": []}]
    run = log_of(report | {"tasks_by_tree": [*report["tasks_by_tree"], task | {"attempts": [attempt]}]})
    assert len(run["results"]) == MOST_RESULTS
    assert run["properties"]["resultsLeftOut"] > 0
    assert not any(excuse(one) for one in run["results"])


PATHS = ["a.py", "lib/a.py", "lib/a.python", "odd name (1).txt", "b+c.py"]


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("lib/a.py:3 is wrong, see a.py:4", [("lib/a.py", 3), ("a.py", 4)]),
        ("a.py and lib/a.py", [("a.py", None), ("lib/a.py", None)]),
        ("a.py: line a.py:12 of it", [("a.py", 12)]),
        ("lib/a.python:1, xa.py:2, a.pyc:3", [("lib/a.python", 1)]),
        ("odd name (1).txt:8 and b+c.py:0", [("odd name (1).txt", 8), ("b+c.py", None)]),
        ("nothing is named", []),
    ],
)
def test_places_are_read_out_of_words(text: str, places: list[tuple[str, int | None]]) -> None:
    assert list(find_places(text, PATHS)) == places


@given(words=st.text(max_size=60), path=st.text(st.characters(codec="utf-8"), min_size=1, max_size=20))
def test_no_words_and_no_path_make_the_log_anything_but_valid(words: str, path: str) -> None:
    vote = LensVote(lens="diff", model="m", decision="reject", reasons=(words, f"{path}:3 {words}"))
    report = report_of_events(created("a"), *worked("a"), judged("a", "reject", votes=(vote,)))
    task = next(one for one in report["tasks_by_tree"] if one["attempts"])
    attempt = task["attempts"][0]
    attempt |= {"fate": "rejected", "ejected": [words], "conflicts": [path]}
    attempt["candidate"]["paths"] = [path]
    task |= {"id": words, "outcome": words}
    assert len(log_of(report)["results"]) == 3
