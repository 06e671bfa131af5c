"""JUnit XML, as pytest, Maven, Gradle, googletest, Jest, Node and others write it."""

import re
from xml.parsers import expat

from orchestrator.domain.judging.check import TestOutcome
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.reports.parsed_report import COLLECTION_PREFIX, SUITE_PREFIX, OutcomeTally, ParsedReport

MAX_REPORT_BYTES = 64 * 1024 * 1024
_CONTROLS = bytes(b"?"[0] if code < 32 and code not in b"\t\n\r" else code for code in range(256))
_REFERENCE = compile_lazily(rb"&#(?:x([0-9A-Fa-f]+)|([0-9]+));")
_ENCODING = compile_lazily(rb"<\?xml[^>]*encoding\s*=\s*[\"']([A-Za-z0-9._-]+)")
_SUITES = {"testsuite", "testsuites"}
_COLLECTION_MESSAGES = {"collection failure", "collection skipped"}
_JEST_SUITE = "Test suite failed to run"
_BY_STATUS = {
    **dict.fromkeys(("fail", "failed", "failure"), TestOutcome.FAILED),
    **dict.fromkeys(("error", "errored", "broken"), TestOutcome.ERROR),
    **dict.fromkeys(("skipped", "disabled", "notrun", "ignored", "pending", "suppressed"), TestOutcome.SKIPPED),
}


class _Forbidden(Exception):
    """The document declares what no test report needs: a document type or entities."""


def parse_junit(report: bytes) -> ParsedReport:
    """Read a report. Ids are `classname::name`, or `name` alone.

    Nothing outside the document is ever read and no entity is expanded: a document type declaration ends the reading.
    """
    if not report.strip():
        return ParsedReport(outcomes={}, problem="the JUnit report is empty")
    if len(report) > MAX_REPORT_BYTES:
        return ParsedReport(outcomes={}, problem=f"the JUnit report is larger than {MAX_REPORT_BYTES // 2**20} MiB")
    reader = _Reader()
    problem = reader.read_document(_replace_forbidden(report))
    return ParsedReport(outcomes=reader.tally.outcomes, problem=problem)


class _Reader:
    """Goes through the elements once; what it has seen before an error is kept."""

    def __init__(self) -> None:
        self.tally = OutcomeTally()
        self._open: list[tuple[str, dict[str, str]]] = []
        self._parts: dict[str, dict[str, str]] = {}

    def read_document(self, document: bytes) -> str:
        """Read the document; the answer is what is wrong with it."""
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._start_element
        parser.EndElementHandler = self._end_element
        parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = _forbid
        try:
            parser.Parse(document, True)
        except _Forbidden:
            return "the JUnit report has a document type declaration, which is refused"
        except (expat.ExpatError, ValueError, LookupError) as error:
            return f"the JUnit report is not well-formed XML: {error}; {len(self.tally.outcomes)} tests were read"
        return ""

    def _start_element(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        if not self._open and name not in _SUITES | {"testcase"}:
            raise ValueError(f"its root element is {name!r}")
        parent, outer = self._open[-1] if self._open else ("", {})
        if name == "testcase":
            self._parts = {}
        elif parent == "testcase":
            self._parts.setdefault(name, attributes)
        elif parent in _SUITES and name in {"error", "failure"}:
            self.tally.merge_outcome(f"{SUITE_PREFIX}{outer.get('name', '')}".strip(), TestOutcome.ERROR)
        self._open.append((name, attributes))

    def _end_element(self, _tag: str) -> None:
        name, attributes = self._open.pop()
        if name == "testcase":
            self._record_case(attributes, self._parts)

    def _record_case(self, case: dict[str, str], parts: dict[str, dict[str, str]]) -> None:
        outcome = _get_outcome(case, parts)
        names = [case.get(key, "").strip() for key in ("classname", "name")]
        test_id = "::".join(filter(None, names)) or "(unnamed test)"
        message = (parts.get("error") or parts.get("skipped") or {}).get("message", "")
        if names[0] == _JEST_SUITE or (not names[0] and message in _COLLECTION_MESSAGES):
            self.tally.merge_outcome(f"{COLLECTION_PREFIX}{names[1]}", outcome)
        elif message.startswith("failed on teardown") and self.tally.outcomes.get(test_id) == TestOutcome.FAILED:
            self.tally.merge_outcome(test_id, outcome)  # pytest reports a failed test whose teardown fails too as two
        else:
            self.tally.add_test(test_id, outcome)


def _get_outcome(case: dict[str, str], parts: dict[str, dict[str, str]]) -> TestOutcome:
    kind = parts.get("skipped", {}).get("type", "").lower()
    is_red = "failure" in parts or "error" in parts
    if kind == "todo":
        return TestOutcome.XFAILED if is_red else TestOutcome.XPASSED
    if "failure" in parts:
        return TestOutcome.FAILED
    if "error" in parts:
        return TestOutcome.XPASSED if parts["error"].get("type") == "UnexpectedSuccess" else TestOutcome.ERROR
    if "skipped" in parts:
        return TestOutcome.XFAILED if "xfail" in kind else TestOutcome.SKIPPED
    statuses = (_BY_STATUS.get(case.get(key, "").lower()) for key in ("status", "result"))
    return next(filter(None, statuses), TestOutcome.PASSED)


def _forbid(*_: object) -> None:
    raise _Forbidden


def _replace_forbidden(report: bytes) -> bytes:
    """Return the document with characters replaced that XML cannot hold but test runners write into messages."""
    report = report.lstrip()
    if report.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in report[:4]:
        return report
    report = _REFERENCE.sub(_replace_reference, report.translate(_CONTROLS))
    encoding = _ENCODING.match(report)
    is_utf_8 = encoding is None or encoding[1].lower() in {b"utf-8", b"utf8"}
    return report.decode("utf-8", "replace").encode() if is_utf_8 else report


def _replace_reference(match: re.Match[bytes]) -> bytes:
    code = int(match[1], 16) if match[1] else int(match[2])
    is_allowed = (
        code in (9, 10, 13) or 0x20 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or 0x10000 <= code <= 0x10FFFF
    )
    return match[0] if is_allowed else b"?"
