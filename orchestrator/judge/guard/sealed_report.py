"""Reading what controllers of guarded test runners report, and only what is sealed with a key of that very run."""

import signal
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from hmac import compare_digest
from typing import Any, TypeVar

from pydantic import ValidationError

from orchestrator.domain.judging.check import TestOutcome
from orchestrator.domain.judging.run_trace import (
    FunctionCall,
    GuardReport,
    LenientComparison,
    LoadedPlugin,
    ReplacedFunction,
)
from orchestrator.domain.text.encoding import decode_json
from orchestrator.judge.reports.parsed_report import OutcomeTally

MAX_REPORT_BYTES = 64 * 1024 * 1024
_MAX_NAMES = 20_000
E = TypeVar("E", LenientComparison, FunctionCall)


@dataclass(frozen=True)
class SealedReports:
    """The reports of one run of a check: outcomes of all, and what each guard saw.

    `unsealed` counts the lines that are not believed: without a valid seal, or not to be read under it.
    """

    outcomes: dict[str, TestOutcome]
    guards: tuple[GuardReport, ...]
    unsealed: int = 0


def read_sealed_reports(content: bytes | None, keys: Sequence[str]) -> SealedReports:
    """Return the reports in a file of a check's run that are sealed with one of its keys, each of which counts once."""
    tally = OutcomeTally()
    guards = []
    unused = list(keys)
    unsealed = 0
    for line in (content or b"")[:MAX_REPORT_BYTES].splitlines():
        seal, _, text = line.partition(b" ")
        key = _find_key(seal, text, unused)
        report = _read_report(text) if key else None
        if report is None:
            unsealed += 1
            continue
        unused.remove(key)
        outcomes, guard = report
        for test, outcome in outcomes.items():
            tally.merge_outcome(test, outcome)
        guards.append(guard)
    return SealedReports(tally.outcomes, tuple(guards), unsealed)


def _find_key(seal: bytes, text: bytes, keys: Sequence[str]) -> str:
    for key in keys:
        if compare_digest(blake2b(text, key=key.encode(), digest_size=32).hexdigest().encode(), seal):
            return key
    return ""


def _read_report(text: bytes) -> tuple[dict[str, TestOutcome], GuardReport] | None:
    """Return outcomes and observations of a sealed report; None if it cannot be read.

    The seal is the controller's, but what it was told of modules and plugins comes from the process with the tests.
    """
    outcomes = {}
    try:
        body = decode_json(text)
        for test, outcome in body.get("tests", {}).items():
            outcomes[test] = TestOutcome(outcome)
        return outcomes, _build_guard_report(body)
    except (ValueError, TypeError, AttributeError):
        return None


def _build_guard_report(body: dict[str, Any]) -> GuardReport:
    modules = dict(list(body.get("modules", {}).items())[:_MAX_NAMES])
    return GuardReport(
        modules=modules,
        foreign_modules=tuple(body.get("others", ())[:_MAX_NAMES]),
        plugins=tuple(LoadedPlugin(name=name, path=path) for name, path in body.get("plugins", ())),
        replaced=tuple(
            ReplacedFunction(name=name, path=path, line=line) for name, path, line in body.get("replaced", ())
        ),
        lenient=tuple(_read_entries(LenientComparison, body.get("lenient"))),
        calls=tuple(_read_entries(FunctionCall, body.get("calls"))),
        python=next(iter(body.get("python", ())), ""),
        canaries=body.get("canaries", 0),
        doubts=tuple(body.get("doubts", ())),
        problems=tuple(_describe_problems(body)),
        is_exit_hidden=body.get("status") == 0 and bool(body.get("session")),
    )


def _read_entries(kind: type[E], entries: object) -> Iterator[E]:
    """Yield the entries that are lists of the fields of a kind, in their order; the others say nothing."""
    names = tuple(kind.model_fields)
    for entry in entries if isinstance(entries, list) else ():
        with suppress(ValidationError, TypeError, ValueError):
            yield kind.model_validate(dict(zip(names, entry, strict=True)))


def _describe_problems(body: dict[str, Any]) -> Iterator[str]:
    """Yield what went wrong around the outcomes, in words for a worker."""
    if not body.get("ended"):
        last = body.get("last") or ""
        where = f"while or after {last} ran, the last test that began" if last else "before any test began"
        yield (
            f"the process that runs the tests ended {_describe_ending(body)} without having come to its end, "
            f"{where}: take out whatever ends it"
        )
    yield from body.get("problems", ())


def _describe_ending(body: dict[str, Any]) -> str:
    status = body.get("status") or 0
    number = status & 0x7F
    if number:
        try:
            return f"by {signal.Signals(number).name}"
        except ValueError:
            return f"by signal {number}"
    return f"with exit code {status >> 8}"
