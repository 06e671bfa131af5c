"""JUnit XML in the dialect of Maven's Surefire, which tells reruns. It is well-formed whatever the words in it are."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from xml.etree import ElementTree

from orchestrator.domain.text.sanitization import strip_controls, to_one_line

CaseResult = Literal["passed", "failure", "error", "skipped"]
_RERUNS: Mapping[CaseResult, str] = {"passed": "flakyFailure", "failure": "rerunFailure", "error": "rerunError"}
_NO_CHARACTERS = re.compile("[\ufffe\uffff]")
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
    """A test. `kind`, `message` and `detail` say why it did not pass; `out` is what is told of it in any case."""

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
    """The document; `started_at` is an ISO date with a zone. The more tests there are, the less is told of each."""
    cases = [case for suite in suites for case in suite.cases]
    chars = max(_LEAST_CHARS, min(_MOST_CHARS, _ALL_CHARS // max(1, len(cases))))
    root = ElementTree.Element("testsuites", {"name": _line(name), **_sums(cases)})
    moment = datetime.fromisoformat(started_at).replace(microsecond=0, tzinfo=None).isoformat()
    for suite in suites:
        said = {"name": suite.name, "timestamp": moment, **_sums(suite.cases)}
        element = ElementTree.SubElement(root, "testsuite", said)
        listed = ElementTree.SubElement(element, "properties")
        for key, value in properties.items():
            ElementTree.SubElement(listed, "property", {"name": key, "value": _line(value)})
        element.extend(_case(case, chars) for case in suite.cases)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _sums(cases: Sequence[JunitCase]) -> dict[str, str]:
    counts = Counter(case.result for case in cases)
    return {
        "tests": str(len(cases)),
        "failures": str(counts["failure"]),
        "errors": str(counts["error"]),
        "skipped": str(counts["skipped"]),
        "time": f"{sum(case.seconds for case in cases):.3f}",
    }


def _case(case: JunitCase, chars: int) -> ElementTree.Element:
    named = {"classname": _line(case.classname), "name": _line(case.name), "time": f"{case.seconds:.3f}"}
    element = ElementTree.Element("testcase", named)
    element.extend(_children(case, chars))
    if case.out:
        ElementTree.SubElement(element, "system-out").text = _text(case.out, chars)
    return element


def _children(case: JunitCase, chars: int) -> Iterator[ElementTree.Element]:
    """In the order that Surefire's schema has."""
    if case.result == "skipped":
        yield ElementTree.Element("skipped", {"message": _line(case.message, _MESSAGE_CHARS)})
    elif case.result != "passed":
        yield _told(case.result, FailedTry(case.kind, case.message, case.detail or case.message), chars)
    if case.result in _RERUNS:
        for one in case.earlier:
            rerun = _told(_RERUNS[case.result], one, chars)
            rerun.text = None
            ElementTree.SubElement(rerun, "stackTrace").text = _text(one.detail or one.message, chars)
            yield rerun


def _told(tag: str, one: FailedTry, chars: int) -> ElementTree.Element:
    said = {"type": _line(one.kind), "message": _line(one.message, _MESSAGE_CHARS)}
    element = ElementTree.Element(tag, said)
    element.text = _text(one.detail, chars)
    return element


def _line(text: str, chars: int = _NAME_CHARS) -> str:
    return _NO_CHARACTERS.sub("", to_one_line(text, chars))


def _text(text: str, chars: int) -> str:
    """Words without what XML cannot hold, bounded."""
    held = _NO_CHARACTERS.sub("", strip_controls(text[: chars + 1]))
    if len(text) <= chars:
        return held
    return f"{held[:chars]}…"
