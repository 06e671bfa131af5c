"""What the guard of a test run books, seals and finds, as pure functions."""

import json
from hashlib import blake2b

import pytest

from orchestrator.domain.judging.check import TestOutcome
from orchestrator.domain.judging.run_trace import GuardReport, LoadedPlugin, RunTrace
from orchestrator.judge.guard.controller import OutcomeBook
from orchestrator.judge.guard.injection import build_guard_injection
from orchestrator.judge.guard.integrity import CandidateFiles, OriginFinder, is_test_file
from orchestrator.judge.guard.sealed_report import read_sealed_reports
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.rules.run_traces import check_loaded_modules
from tests.unit.judge.changes import changed

KEYS = ("a" * 64, "b" * 64)


def seal(key: str, **body: object) -> bytes:
    text = json.dumps({"ended": True, "status": 0, "tests": {}} | body).encode()
    return blake2b(text, key=key.encode(), digest_size=32).hexdigest().encode() + b" " + text + b"\n"


def test_only_what_is_sealed_with_a_key_of_the_run_is_believed_and_each_key_once() -> None:
    one = seal(KEYS[0], tests={"a": "passed", "b": "failed"})
    other = seal(KEYS[1], tests={"b": "passed", "c": "skipped"})
    read = read_sealed_reports(one + other + one + seal("c" * 64) + b"- {}\n", KEYS)
    assert (len(read.guards), read.unsealed) == (2, 3)
    assert read.outcomes == {"a": TestOutcome.PASSED, "b": TestOutcome.FAILED, "c": TestOutcome.SKIPPED}


@pytest.mark.parametrize(
    "body",
    [
        {"modules": []},
        {"modules": {"cart": 1}},
        {"plugins": [["alone"]]},
        {"replaced": [["json.loads", "cart.py", "first"]]},
        {"python": 3},
        {"tests": {"a": "maybe"}},
    ],
)
def test_a_sealed_report_that_the_worker_made_unreadable_is_not_believed(body: dict[str, object]) -> None:
    read = read_sealed_reports(seal(KEYS[0], **body), KEYS)
    assert (read.outcomes, read.guards, read.unsealed) == ({}, (), 1)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"ended": False, "status": 9, "last": "t.py::test_a"}, "ended by SIGKILL without having come to its end"),
        ({"ended": False, "status": 3 << 8}, "ended with exit code 3"),
        ({"ended": False}, "before any test began"),
        ({"problems": ["something"]}, "something"),
    ],
)
def test_a_run_that_was_cut_says_how_and_where(body: dict[str, object], words: str) -> None:
    (guard,) = read_sealed_reports(seal(KEYS[0], **body), KEYS).guards
    assert words in guard.problems[0]


def test_an_exit_code_that_hides_an_error_is_told() -> None:
    read = read_sealed_reports(seal(KEYS[0], session=1) + seal(KEYS[1], session=0), KEYS)
    assert [guard.is_exit_hidden for guard in read.guards] == [True, False]


@pytest.mark.parametrize(
    ("reports", "outcome"),
    [
        ([("setup", "passed", False), ("call", "passed", False), ("teardown", "passed", False)], "passed"),
        ([("setup", "passed", False), ("call", "failed", False), ("teardown", "failed", False)], "failed"),
        ([("setup", "passed", False), ("call", "passed", False), ("teardown", "failed", False)], "error"),
        ([("setup", "failed", False), ("teardown", "passed", False)], "error"),
        ([("setup", "skipped", False), ("teardown", "passed", False)], "skipped"),
        ([("setup", "passed", False), ("call", "skipped", True), ("teardown", "passed", False)], "xfailed"),
        ([("setup", "passed", False), ("call", "failed", False)], "failed"),
    ],
)
def test_outcomes_are_those_of_pytest_s_own_report(reports: list[tuple[str, str, bool]], outcome: str) -> None:
    book = OutcomeBook()
    for when, how, is_expected in reports:
        book.add_report("t::a", when, how, is_expected, "")
    book.close_tests()
    assert (book.outcomes, book.is_red) == ({"t::a": outcome}, outcome in {"failed", "error"})


def test_a_test_that_ran_twice_is_told_twice() -> None:
    book = OutcomeBook()
    for _ in range(2):
        book.add_report("t::a", "teardown", "passed", False, "")
    assert [*book.outcomes] == ["t::a", "t::a #2"]


def test_names_are_drawn_for_each_run_and_lead_back_to_the_same_words() -> None:
    one, other = (build_guard_injection(1, has_canaries=True) for _ in range(2))
    assert one.sandbox.before == other.sandbox.before
    assert not one.sandbox.names.keys() & other.sandbox.names.keys()
    assert {*one.sandbox.names.values()} == {*other.sandbox.names.values()}
    assert one.keys != other.keys


def test_code_of_the_workspace_is_found_behind_wrappers_and_without_a_file() -> None:
    finder = OriginFinder(CandidateFiles("/srv/tree"))
    names: dict[str, object] = {"__file__": "/srv/tree/shop.py"}
    exec(
        compile("import functools\ndef patch(): pass\nhidden = functools.partial(patch)", "/srv/tree/a.py", "exec"),
        names,
    )
    exec("def text(): pass", names)
    assert finder.find_origin(names["hidden"]) == ("a.py", 2)
    assert finder.find_origin(staticmethod(names["patch"])) == ("a.py", 2)  # type: ignore[arg-type]
    assert finder.find_origin(names["text"]) == ("shop.py", 1)
    assert finder.find_origin(json.loads) is None


@pytest.mark.parametrize(
    ("path", "is_test"), [("tests/a.py", True), ("conftest.py", True), ("shop/testing_a.py", False)]
)
def test_files_of_tests_are_known_by_their_paths(path: str, is_test: bool) -> None:
    assert is_test_file(path) is is_test


@pytest.mark.parametrize(
    ("path", "changed_path", "is_red"),
    [
        ("tests/fast/conftest.py", "tests/fast/conftest.py", False),
        ("tests/fast/conftest.py", "tests/fast/test_a.py", True),
        ("tests/fast/hooks.py", "tests/fast/hooks.py", True),
    ],
)
def test_a_new_plugin_is_red_but_a_conftest_of_the_change_is_judged_by_its_content(
    path: str, changed_path: str, is_red: bool
) -> None:
    guard = GuardReport(plugins=(LoadedPlugin(name=path, path=path),))
    files = [changed(changed_path, None, "x = 1\n")]
    facts = ChangeFacts(files, base_traces=[RunTrace(guards=(GuardReport(),))], traces=[RunTrace(guards=(guard,))])
    assert [finding.is_blocking for finding in check_loaded_modules(facts)] == [True] * is_red
