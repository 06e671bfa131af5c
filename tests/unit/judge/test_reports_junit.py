import pytest

from orchestrator.domain.judging.check import TestOutcome as Outcome
from orchestrator.judge.reports import ParsedReport
from orchestrator.judge.reports.junit import MAX_REPORT_BYTES, parse_junit


def suite(*cases: str) -> bytes:
    return f"<testsuites><testsuite name='s'>{''.join(cases)}</testsuite></testsuites>".encode()


def case(inner: str = "", attributes: str = "") -> str:
    return f"<testcase classname='c' name='n' {attributes}>{inner}</testcase>"


@pytest.mark.parametrize(
    ("inner", "outcome"),
    [
        ("", Outcome.PASSED),
        ("<system-out>&lt;failure/></system-out>", Outcome.PASSED),
        ("<failure message='no'/>", Outcome.FAILED),
        ("<error message='no'/>", Outcome.ERROR),
        ("<failure/><error message='failed on teardown'/>", Outcome.FAILED),
        ("<skipped/>", Outcome.SKIPPED),
        ("<skipped type='pytest.skip' message='later'/>", Outcome.SKIPPED),
        ("<skipped type='pytest.xfail' message='known'/>", Outcome.XFAILED),
        ("<skipped type='pytest.xfail'/><error message='failed on teardown'/>", Outcome.ERROR),
        ("<skipped type='XFAIL'/>", Outcome.XFAILED),
        ("<error type='UnexpectedSuccess'/>", Outcome.XPASSED),
        ("<skipped type='todo'/><failure/>", Outcome.XFAILED),
        ("<skipped type='todo'/>", Outcome.XPASSED),
        ("<skipped/><error/>", Outcome.ERROR),
        ("<flakyFailure/>", Outcome.PASSED),
        ("<failure/><rerunFailure/>", Outcome.FAILED),
        ("<properties><property name='failure'><failure/></property></properties>", Outcome.PASSED),
    ],
)
def test_what_stands_in_a_case_decides(inner: str, outcome: Outcome) -> None:
    assert parse_junit(suite(case(inner))) == ParsedReport(outcomes={"c::n": outcome})


@pytest.mark.parametrize(
    ("attributes", "outcome"),
    [
        ("status='run' result='completed'", Outcome.PASSED),
        ("status='notrun' result='suppressed'", Outcome.SKIPPED),
        ("status='run' result='skipped'", Outcome.SKIPPED),
        ("status='failed'", Outcome.FAILED),
        ("status='broken'", Outcome.ERROR),
    ],
)
def test_a_status_attribute_decides_where_nothing_stands_in_the_case(attributes: str, outcome: Outcome) -> None:
    assert parse_junit(suite(case("", attributes))).outcomes == {"c::n": outcome}


def test_repeated_ids_are_counted_in_order() -> None:
    report = parse_junit(suite(case(), case("<failure/>"), case("<skipped/>")))
    assert report.outcomes == {"c::n": Outcome.PASSED, "c::n #2": Outcome.FAILED, "c::n #3": Outcome.SKIPPED}


def test_a_name_that_looks_like_a_repetition_is_not_overwritten() -> None:
    report = parse_junit(
        suite("<testcase name='n #2'/>", "<testcase name='n'/>", "<testcase name='n'><failure/></testcase>")
    )
    assert report.outcomes == {"n #2": Outcome.PASSED, "n": Outcome.PASSED, "n #3": Outcome.FAILED}


def test_ids_are_the_name_alone_where_there_is_no_class() -> None:
    report = parse_junit(b"<testsuite><testcase name='a'/><testcase classname='  ' name=' b '/><testcase/></testsuite>")
    assert report.outcomes == dict.fromkeys(["a", "b", "(unnamed test)"], Outcome.PASSED)


def test_nested_suites_namespaces_and_a_suite_that_broke() -> None:
    report = parse_junit(
        b"<j:testsuites xmlns:j='urn:j'><j:testsuite name='outer'><j:testsuite name='inner'>"
        b"<j:testcase name='a'/><j:error message='boom'/></j:testsuite></j:testsuite></j:testsuites>"
    )
    assert report == ParsedReport(outcomes={"a": Outcome.PASSED, "(suite) inner": Outcome.ERROR})


LAUGHS = b"""<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">]><testsuite><testcase name="&c;"/></testsuite>"""
EXTERNAL = b"""<!DOCTYPE t SYSTEM "http://127.0.0.1:9/t.dtd" [<!ENTITY x SYSTEM "file:///etc/hostname">]>
<testsuite><testcase name="&x;"/></testsuite>"""


@pytest.mark.parametrize("report", [LAUGHS, EXTERNAL, b"<!DOCTYPE testsuite><testsuite/>"])
def test_a_document_type_is_refused_before_any_entity_counts(report: bytes) -> None:
    assert parse_junit(report) == ParsedReport(
        outcomes={}, problem="the JUnit report has a document type declaration, which is refused"
    )


@pytest.mark.parametrize(
    ("report", "problem"),
    [
        (b"", "the JUnit report is empty"),
        (b" \n", "the JUnit report is empty"),
        (b"1 passed", "the JUnit report is not well-formed XML: syntax error: line 1, column 0; 0 tests were read"),
        (b"<html/>", "the JUnit report is not well-formed XML: its root element is 'html'; 0 tests were read"),
        (b"<testsuite>&x;</testsuite>", "the JUnit report is not well-formed XML: undefined entity: line 1, column 11"),
        (b"<?xml version='1.0' encoding='no-such'?><testsuite/>", "the JUnit report is not well-formed XML: unknown"),
    ],
)
def test_what_is_no_report_is_a_problem(report: bytes, problem: str) -> None:
    parsed = parse_junit(report)
    assert (parsed.outcomes, parsed.problem[: len(problem)]) == ({}, problem)


def test_a_report_that_is_too_large_is_a_problem() -> None:
    assert parse_junit(b"<" * (MAX_REPORT_BYTES + 1)).problem == "the JUnit report is larger than 64 MiB"


def test_a_report_that_is_cut_off_gives_the_cases_that_were_whole() -> None:
    parsed = parse_junit(suite(case(), case("<failure/>"))[:-60])
    assert parsed.outcomes == {"c::n": Outcome.PASSED}
    assert parsed.problem.endswith("1 tests were read")


def test_characters_that_xml_cannot_hold_do_no_harm() -> None:
    report = b"\n<?xml version='1.0'?><testsuite><testcase name='a\x1b[0m\x00&#27;&#x1f600;&#xD800;\xff'/></testsuite>"
    assert parse_junit(report) == ParsedReport(outcomes={"a?[0m??\U0001f600?\ufffd": Outcome.PASSED})


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "iso-8859-1"])
def test_encodings(encoding: str) -> None:
    declared = encoding.removesuffix("-sig")
    report = f"<?xml version='1.0' encoding='{declared}'?><testsuite><testcase name='é'/></testsuite>"
    assert parse_junit(report.encode(encoding)) == ParsedReport(outcomes={"é": Outcome.PASSED})


def test_deep_nesting_does_no_harm() -> None:
    depth = 20_000
    report = b"<testsuite>" * depth + b"<testcase name='a'/>" + b"</testsuite>" * depth
    assert parse_junit(report) == ParsedReport(outcomes={"a": Outcome.PASSED})
