"""Write JUnit XML in the dialect of Maven's Surefire, which has reruns; it is well-formed whatever its words are."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from xml.etree import ElementTree

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.sanitization import strip_controls, to_one_line

CaseResult = Literal["passed", "failure", "error", "skipped"]
_RERUNS: Mapping[CaseResult, str] = {"passed": "flakyFailure", "failure": "rerunFailure", "error": "rerunError"}
_NO_CHARACTERS = compile_lazily("[\ufffe\uffff]")
_NAME_CHARS = 300
_MESSAGE_CHARS = 500
_LEAST_CHARS, _MOST_CHARS = 300, 8_000
_ALL_CHARS = 16_000_000


@dataclass(frozen=True)
class FailedTry:
    """An earlier try of a test, which failed: of which kind, in a line, and in all its words."""

    kind: str
    message: str
    detail: str = ""


@dataclass(frozen=True)
class JunitCase:
    """A test. `kind`, `message` and `detail` say why it did not pass; `out` is shown in any case."""

    classname: str
    name: str
    seconds: float
    result: CaseResult
    kind: str = ""
    message: str = ""
    detail: str = ""
    out: str = ""
    earlier: tuple[FailedTry, ...] = ()


@dataclass(frozen=True)
class JunitSuite:
    """Tests that are counted together."""

    name: str
    cases: tuple[JunitCase, ...]


def render_junit_xml(name: str, started_at: str, properties: Mapping[str, str], suites: Sequence[JunitSuite]) -> str:
    """Return the document; `started_at` is an ISO date with a zone.

    The more tests there are, the less is shown of each.
    """
    cases = [case for suite in suites for case in suite.cases]
    chars = max(_LEAST_CHARS, min(_MOST_CHARS, _ALL_CHARS // max(1, len(cases))))
    root = ElementTree.Element("testsuites", {"name": _clean_line(name), **_count_results(cases)})
    moment = datetime.fromisoformat(started_at).replace(microsecond=0, tzinfo=None).isoformat()
    for suite in suites:
        attributes = {"name": suite.name, "timestamp": moment, **_count_results(suite.cases)}
        element = ElementTree.SubElement(root, "testsuite", attributes)
        listed = ElementTree.SubElement(element, "properties")
        for key, value in properties.items():
            ElementTree.SubElement(listed, "property", {"name": key, "value": _clean_line(value)})
        for case in suite.cases:
            element.append(_build_case(case, chars))
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _count_results(cases: Sequence[JunitCase]) -> dict[str, str]:
    counts = Counter(case.result for case in cases)
    return {
        "tests": str(len(cases)),
        "failures": str(counts["failure"]),
        "errors": str(counts["error"]),
        "skipped": str(counts["skipped"]),
        "time": f"{sum(case.seconds for case in cases):.3f}",
    }


def _build_case(case: JunitCase, chars: int) -> ElementTree.Element:
    attributes = {"classname": _clean_line(case.classname), "name": _clean_line(case.name)}
    element = ElementTree.Element("testcase", {**attributes, "time": f"{case.seconds:.3f}"})
    element.extend(_iterate_results(case, chars))
    if case.out:
        ElementTree.SubElement(element, "system-out").text = _clean_text(case.out, chars)
    return element


def _iterate_results(case: JunitCase, chars: int) -> Iterator[ElementTree.Element]:
    """Yield the elements in the order that Surefire's schema has."""
    if case.result == "skipped":
        yield ElementTree.Element("skipped", {"message": _clean_line(case.message, _MESSAGE_CHARS)})
    elif case.result != "passed":
        yield _build_failure(case.result, FailedTry(case.kind, case.message, case.detail or case.message), chars)
    if case.result in _RERUNS:
        for failed in case.earlier:
            rerun = _build_failure(_RERUNS[case.result], failed, chars)
            rerun.text = None
            ElementTree.SubElement(rerun, "stackTrace").text = _clean_text(failed.detail or failed.message, chars)
            yield rerun


def _build_failure(tag: str, failed: FailedTry, chars: int) -> ElementTree.Element:
    attributes = {"type": _clean_line(failed.kind), "message": _clean_line(failed.message, _MESSAGE_CHARS)}
    element = ElementTree.Element(tag, attributes)
    element.text = _clean_text(failed.detail, chars)
    return element


def _clean_line(text: str, chars: int = _NAME_CHARS) -> str:
    return _NO_CHARACTERS.sub("", to_one_line(text, chars))


def _clean_text(text: str, chars: int) -> str:
    """Return the first `chars` characters without what XML cannot hold."""
    clean = _NO_CHARACTERS.sub("", strip_controls(text[: chars + 1]))
    if len(text) <= chars:
        return clean
    return f"{clean[:chars]}…"
