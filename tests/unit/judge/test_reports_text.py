from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.domain.judging.check import ReportFormat
from orchestrator.domain.judging.check import TestOutcome as Outcome
from orchestrator.judge.reports import ParsedReport, is_test_id, parse_report

REAL = sorted((Path(__file__).parents[2] / "scenarios" / "reports").glob("*/*.[tx][xm][tl]"))
TAP, UNITTEST, PYTEST = ReportFormat.TAP, ReportFormat.UNITTEST, ReportFormat.PYTEST_RA
P, F, E, S, XF, XP = Outcome


def read(kind: ReportFormat, *lines: str) -> ParsedReport:
    return parse_report(kind, "\n".join(lines).encode())


# TAP


@pytest.mark.parametrize(
    ("line", "test", "outcome"),
    [
        ("ok 1 - a name", "a name", P),
        ("not ok 1 - a name", "a name", F),
        ("ok 1 a name", "a name", P),
        ("ok a name", "a name", P),
        ("ok - a name", "a name", P),
        ("ok", "(unnamed test)", P),
        ("not ok 1", "(unnamed test)", F),
        ("ok 1 - 2 - 3", "2 - 3", P),
        ("ok 1 -1 is negative", "-1 is negative", P),
        ("ok 1 2nd", "2nd", P),
        ("ok 1 - a # SKIP no network", "a", S),
        ("ok 1 - a # skip: no network", "a", S),
        ("not ok 1 - a # Skipped: no network", "a", S),
        ("ok 1 # SKIP", "(unnamed test)", S),
        ("not ok 1 - a # TODO later", "a", XF),
        ("ok 1 - a # todo", "a", XP),
        ("ok 1 - a # not a directive", "a # not a directive", P),
        ("ok 1 - issue #skipping", "issue", S),
        ("ok 1 - a#todo", "a#todo", P),
        ("ok 1 - a \\# TODO \\\\", "a # TODO \\", P),
        ("ok 1 - a # time=12.5ms", "a", P),
        ("\x1b[32mok 1 - a\x1b[0m\r", "a", P),
    ],
)
def test_tap_result_lines(line: str, test: str, outcome: Outcome) -> None:
    assert read(TAP, "TAP version 14", "1..1", line) == ParsedReport(outcomes={test: outcome})


def test_tap_buffered_subtests_and_yaml_that_looks_like_results() -> None:
    lines = ["1..2", "ok 1 - outer {", "    1..1", "    ok 1 - inner", "}", "not ok 2 - b"]
    details = ["  ---", "  message: |", "    not ok 3 - quoted", "  ...", "# remark", ""]
    assert read(TAP, *lines, *details).outcomes == {"outer": P, "outer > inner": P, "b": F}


def test_tap_yaml_that_is_cut_off_ends_with_the_next_result() -> None:
    assert read(TAP, "1..2", "not ok 1 - a", "  ---", "  message: x", "ok 2 - b").outcomes == {"a": F, "b": P}


def test_tap_subtest_whose_own_result_never_came() -> None:
    assert read(TAP, "# Subtest: outer", "    ok 1 - inner", "    1..2") == ParsedReport(
        outcomes={"outer > inner": P},
        problem="the TAP plan promises 2 tests, 1 were reported (missing: 2); "
        "the TAP output has no plan, so it is cut off",
    )


def test_tap_missing_results_are_named_but_not_without_end() -> None:
    report = read(TAP, "1..999999999", "ok 2 - b")
    assert report.problem == (
        "the TAP plan promises 999999999 tests, 1 were reported (missing: 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, …)"
    )


def test_tap_remarks_about_failures_do_not_name_groups() -> None:
    lines = ["not ok 1 a", "# (in test file a.bats, line 3)", "#   `false' failed", "ok 2 b", "1..2"]
    assert read(TAP, *lines) == ParsedReport(outcomes={"a": F, "b": P})


def test_tap_numbers_do_not_matter() -> None:
    one = read(TAP, "TAP version 13", "# g", "ok 1 a", "ok 2 b", "1..2")
    other = read(TAP, "TAP version 13", "# g", "ok 1 b", "ok 2 a", "1..2")
    assert one.outcomes == other.outcomes == {"g > a": P, "g > b": P}


# unittest


RAN = ["", "-" * 70, "Ran 1 test in 0.001s", "", "OK"]


@pytest.mark.parametrize(
    ("lines", "outcome"),
    [
        (["test_a (m.C.test_a) ... ok"], P),
        (["test_a (m.C) ... ok"], P),
        (["test_a (m.C) ... skipped 'it\\'s \"late\"'"], S),
        (["test_a (m.C)", "Says ... nothing. ... expected failure"], XF),
        (["test_a (m.C) ... unexpected success"], XP),
        (["test_a (m.C) ... printed", "ok"], P),
        (["test_a (m.C) ... printed (twice)", "and (again)", "to the endok"], P),
        (["test_a (m.C) ... ERROR", "ok"], P),
        (["test_a (m.C) ... printed", "ok", "skipped 'late'"], S),
        (["test_a (m.C) ... no outcome at all"], S),
        (["test_a (m.C) ... printed", "progress (1 of 2) ... ok", "b (dummy) ... ok", "ok"], P),
    ],
)
def test_unittest_forms(lines: list[str], outcome: Outcome) -> None:
    assert read(UNITTEST, *lines, *RAN) == ParsedReport(outcomes={"m.C.test_a": outcome})


def test_unittest_failures_are_believed_from_the_closing_sections() -> None:
    section = ["=" * 70, "ERROR: test_a (m.C.test_a)", "-" * 70, "Traceback (most recent call last):"]
    assert read(UNITTEST, "test_a (m.C.test_a) ... ok", "", *section, *RAN).outcomes == {"m.C.test_a": E}


def test_unittest_failing_subtest_makes_its_test_red() -> None:
    section = ["=" * 70, "FAIL: test_a (m.C.test_a) [legs] (legs=1, name='a b')", "-" * 70]
    assert read(UNITTEST, "test_a (m.C.test_a) ... ok", *section, *RAN).outcomes == {"m.C.test_a": F}


def test_unittest_doctests() -> None:
    section = ["=" * 70, "FAIL: blank lines (m.__test__)", "Doctest: m.__test__.blank lines", "-" * 70]
    lines = ["json ()", "Doctest: json ... ok", "blank lines (m.__test__)", "Doctest: m.__test__.blank lines ... FAIL"]
    assert read(UNITTEST, *lines, *section, *RAN).outcomes == {"json": P, "m.__test__.blank lines": F}


def test_unittest_several_runs_in_one_output() -> None:
    lines = ["test_a (m.C) ... ok", *RAN, "test_b (m.C) ... skipped ''", *RAN]
    assert read(UNITTEST, *lines) == ParsedReport(outcomes={"m.C.test_a": P, "m.C.test_b": S})


def test_unittest_a_test_that_ended_the_process_is_an_error() -> None:
    assert read(UNITTEST, "test_a (m.C) ... ok", "test_b (m.C) ... Segmentation fault") == ParsedReport(
        outcomes={"m.C.test_a": P, "m.C.test_b": E},
        problem="the unittest output is cut off: it does not say how many tests ran",
    )


# pytest


@pytest.mark.parametrize(
    ("line", "test", "outcome"),
    [
        ("PASSED t.py::test_a", "t.py::test_a", P),
        ("PASSED t.py::test_a[x - y]", "t.py::test_a[x - y]", P),
        ("FAILED t.py::test_a - assert 1 - 1", "t.py::test_a", F),
        ("FAILED t.py::test_a[x - y] - assert a[0] - b[1]", "t.py::test_a[x - y]", F),
        ("FAILED t.py::test_a[x - y]", "t.py::test_a[x - y]", F),
        ("FAILED t.py::test_a[[ - ]] - no", "t.py::test_a[[ - ]]", F),
        ("FAILED t.py::test_a[]] - no", "t.py::test_a[]]", F),
        ("FAILED t.py::test_a", "t.py::test_a", F),
        ("ERROR t.py::test_a - OSError: no", "t.py::test_a", E),
        ("ERROR t.py", "(collection) t.py", E),
        ("ERROR t.py - ImportError: no", "(collection) t.py", E),
        ("XFAIL t.py::test_a - why - not", "t.py::test_a", XF),
        ("XPASS t.py::test_a - why", "t.py::test_a", XP),
        ("SUBFAILED[msg] (i=1) t.py::test_a - assert 1", "t.py::test_a", F),
        ("SUBFAIL t.py::test_a - assert 1", "t.py::test_a", F),
    ],
)
def test_pytest_summary_lines(line: str, test: str, outcome: Outcome) -> None:
    title = "=========================== short test summary info ============================"
    assert read(PYTEST, title, line, "1 something in 0.01s") == ParsedReport(outcomes={test: outcome})


def test_pytest_several_summaries_in_one_output_and_the_worst_outcome_counts() -> None:
    title = "==== short test summary info ===="
    first = [title, "PASSED t.py::test_a", "==== 1 passed in 0.01s ===="]
    second = [title, "FAILED t.py::test_a", "PASSED u.py::test_b", "= 1 failed, 1 passed in 75.10s (0:01:15) ="]
    assert read(PYTEST, *first, "PASSED not in a summary::x", *second) == ParsedReport(
        outcomes={"t.py::test_a": F, "u.py::test_b": P}
    )


# all of them


@pytest.mark.parametrize("kind", [TAP, UNITTEST, PYTEST])
def test_output_without_the_format_that_was_asked_for_is_a_problem_and_no_green(kind: ReportFormat) -> None:
    report = parse_report(kind, b"Segmentation fault\n", exit_code=139)
    assert report.outcomes == {}
    assert report.problem.endswith("(exit code 139)")


def test_a_junit_report_that_was_not_written_is_a_problem() -> None:
    assert parse_report(ReportFormat.JUNIT, b"1 passed in 0.1s", None) == ParsedReport(
        outcomes={}, problem="no JUnit report was written"
    )


def test_exit_code_looks_at_nothing_else() -> None:
    assert parse_report(ReportFormat.EXIT_CODE, b"1..1\nnot ok 1 - a\n", b"<testsuite/>") == ParsedReport()


@pytest.mark.parametrize(
    "output", [b"", b"ok\n", b"all good\n", b"1..3\n", b"ok 1 - looks like TAP\n", b"Ran 3 tests in 1s\n"]
)
def test_auto_without_evidence_leaves_the_exit_code(output: bytes) -> None:
    assert parse_report(ReportFormat.AUTO, output) == ParsedReport()


def test_auto_takes_the_report_file_before_the_output() -> None:
    report = parse_report(ReportFormat.AUTO, b"1..1\nok 1 - a\n", b"<testsuite><testcase name='b'/></testsuite>")
    assert report == ParsedReport(outcomes={"b": P})


def test_an_output_file_that_is_gone_is_a_problem(tmp_path: Path) -> None:
    report = parse_report(TAP, tmp_path / "gone")
    assert report.outcomes == {}
    assert "the output cannot be read: No such file or directory" in report.problem


@pytest.mark.parametrize(
    ("test_id", "is_one"),
    [
        ("a::b", True),
        ("(collection) m", False),
        ("(set-up) setUpClass m.C", False),
        ("(suite) s", False),
        ("(a) b", True),
    ],
)
def test_ids_of_what_is_no_test(test_id: str, is_one: bool) -> None:
    assert is_test_id(test_id) is is_one


@settings(deadline=None, max_examples=200)
@given(st.sampled_from(REAL), st.sampled_from(ReportFormat), st.binary(max_size=5), st.data())
def test_damaged_reports_never_raise(path: Path, kind: ReportFormat, noise: bytes, data: st.DataObject) -> None:
    content = path.read_bytes()
    start = data.draw(st.integers(0, len(content)))
    damaged = content[:start] + noise + content[data.draw(st.integers(start, len(content))) :]
    parsed = parse_report(kind, damaged, damaged if path.suffix == ".xml" else None)
    assert parsed.outcomes is None or all(isinstance(outcome, Outcome) for outcome in parsed.outcomes.values())


@settings(deadline=None)
@given(st.text() | st.text("ok not#()-.\n 1{}=FAILERRORtest_[]:PSD"), st.sampled_from(ReportFormat))
def test_garbage_never_raises(text: str, kind: ReportFormat) -> None:
    content = text.encode("utf-8", "surrogatepass")
    assert parse_report(kind, content, content) == parse_report(kind, content, content)
