"""Which hooks a moment calls for, and what their answers mean."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from orchestrator.domain.hooks import Hook, is_hook_applicable, parse_hook_answer
from orchestrator.domain.paths.globs import can_overlap, matches_glob

NAMES = st.text("ab.", min_size=1, max_size=3)
PATHS = st.lists(NAMES.filter(lambda name: name != "."), min_size=1, max_size=4).map("/".join)
GLOBS = st.lists(st.sampled_from(["*", "**", "a", "b", "a*", "*b", "?", "a?b"]), min_size=1, max_size=4).map("/".join)


def hook(on: str = "before_tool", **more: Any) -> Hook:
    return Hook.model_validate({"on": on, "run": "true", **more})


@pytest.mark.parametrize(
    ("glob", "path", "fits"),
    [
        ("src/**/*.py", "src/a.py", True),
        ("src/**/*.py", "src/a/b.py", True),
        ("src/*.py", "src/a/b.py", False),
        ("src", "src/a/b.py", True),
        ("*.py", "src/a.py", False),
        ("**/*.py", "a.py", True),
        ("a*b*c", "aXc", False),
        ("a", "", False),
    ],
)
def test_a_glob_matches_a_path_or_what_it_lies_in(glob: str, path: str, fits: bool) -> None:
    assert matches_glob(glob, path) is fits


@given(PATHS)
def test_every_path_matches_itself(path: str) -> None:
    assert matches_glob(path, path)


@given(GLOBS, PATHS)
def test_what_matches_also_overlaps(glob: str, path: str) -> None:
    assert not matches_glob(glob, path) or can_overlap(glob, path)


@given(GLOBS, PATHS, NAMES)
def test_what_matches_a_directory_matches_what_lies_in_it(glob: str, path: str, name: str) -> None:
    assert not matches_glob(glob, path) or matches_glob(glob, f"{path}/{name}")


@pytest.mark.parametrize(
    ("match", "fits"),
    [
        ({}, True),
        ({"tool": "write"}, True),
        ({"tool": ["shell", "w*"]}, True),
        ({"tool": "shell"}, False),
        ({"task": "storage"}, True),
        ({"task": "other"}, False),
        ({"path": "src/**"}, True),
        ({"tool": "write", "path": "docs"}, False),
    ],
)
def test_all_that_a_hook_is_limited_to_must_fit(match: dict[str, Any], fits: bool) -> None:
    assert is_hook_applicable(hook(match=match), "before_tool", ["storage/index"], "write", ["src/a.py"]) is fits


def test_a_hook_runs_only_at_its_points() -> None:
    assert not is_hook_applicable(hook("after_tool"), "before_tool", [], "shell", [])


@pytest.mark.parametrize(
    "values",
    [
        {"on": "before_lunch"},
        {"on": []},
        {"run": " "},
        {"on": "before_turn", "match": {"tool": "shell"}},
        {"on": "before_run", "match": {"task": "a"}},
        {"on": "before_attempt", "match": {"path": "a"}},
        {"on": "after_tool", "on_error": "veto"},
        {"match": {"path": "!a"}},
        {"timeout_s": 0},
    ],
)
def test_a_hook_that_could_never_do_what_it_says_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        hook(**values)


@pytest.mark.parametrize(
    ("code", "stdout", "stderr", "decision", "reason"),
    [
        (0, "", "", "allow", ""),
        (0, "checked 3 files", "", "allow", ""),
        (0, '{"other": 1}', "", "allow", ""),
        (0, '{"decision": "allow"}', "", "allow", ""),
        (0, '{\n "decision": "veto",\n "reason": "frozen"}', "noise", "veto", "frozen"),
        (0, '{"decision": "veto"}', "", "veto", "it gave no reason"),
        (0, '{"decision": "stop", "reason": "later"}', "", "stop", "later"),
        (0, '{"decision": "block"}', "", "veto", "none of allow, veto, stop"),
        (2, "", "no secrets\n", "veto", "no secrets"),
        (2, "from stdout", "", "veto", "from stdout"),
        (1, "", "crashed", "veto", "exit code 1): crashed"),
        (None, "", "", "veto", "late"),
    ],
)
def test_what_an_answer_means(code: int | None, stdout: str, stderr: str, decision: str, reason: str) -> None:
    answer = parse_hook_answer(hook(), "before_tool", code, "late" if code is None else "", stdout, stderr)
    assert answer.decision == decision
    assert reason.removesuffix("): crashed") in answer.reason


def test_a_failure_counts_as_nothing_where_that_is_asked_for_and_after_the_fact() -> None:
    ignoring = hook(on_error="ignore")
    assert parse_hook_answer(ignoring, "before_tool", 1, "", "", "").decision == "failed"
    assert parse_hook_answer(hook("after_tool"), "after_tool", 1, "", "", "").decision == "failed"
