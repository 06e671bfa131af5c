"""What test runners need to be given so that they tell the outcome of each test, and in which format they then do."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from orchestrator.domain.judging.check import ReportFormat
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.reports import parse_report

NODE_REPORTERS: Mapping[str, tuple[str, str]] = {
    "tape": ("", "tap"),
    "mocha": ("--reporter tap", "tap"),
    "vitest": ("--reporter=junit --outputFile={report}", "junit"),
    "ava": ("--tap", "tap"),
    "tap": ("--reporter=tap", "tap"),
    "node": ("", "tap"),
    "jest": ("--verbose", "jest"),
}
"""Runner of JavaScript → what makes it report each test, and the format of that."""
JEST_JUNIT = "jest-junit"
_PYTEST = compile_lazily(r"(?:^|(?<=[\s/]))(?:py\.test|pytest)(?=\s|\Z)")
_UNITTEST = compile_lazily(r"-m\s+unittest\b[^|;&]*")
_DJANGO = compile_lazily(r"(?:(?:manage\.py|django-admin|-m\s+django)\s+test\b|\bruntests\.py\b)[^|;&]*")
_VERBOSITY = compile_lazily(r"\s(?:-v|--verbosity)[ =]?\d")
_NODE = compile_lazily(r"(?:^|(?<=[\s/]))(?P<runner>mocha|vitest|ava|tap|node)(?=\s|\Z)[^|;&]*")
_JEST = compile_lazily(r"(?:^|(?<=[\s/]))jest(?=\s|\Z)[^|;&]*")
_CARGO = compile_lazily(r"(?:^|(?<=[\s/]))cargo\s+(?:\+\S+\s+)?(?:test|t)(?=\s|\Z)")
_GO = compile_lazily(r"(?:^|(?<=[\s/]))go\s+test(?=\s|\Z)")
_PYTEST_SUM = compile_lazily(r"^=+ .*\b\d+ passed.* in [\d.]+s", re.MULTILINE)
_UNITTEST_SUM = compile_lazily(r"^Ran \d+ tests? in [\d.]+s", re.MULTILINE)
_MOCHA_SUM = compile_lazily(r"^\s*\d+ passing \(", re.MULTILINE)


class ReportingLine(NamedTuple):
    """A command line that tells the outcome of each test, and the format."""

    run: str
    report: ReportFormat


def suggest_reporting_line(run: str, output: str) -> ReportingLine | None:
    """Return how a command that told only its exit code would tell the outcome of each test.

    Args:
        run: the command.
        output: what it printed; it may show a runner that the command does not name.

    Returns:
        None if the runner is not known.
    """
    if parse_report(ReportFormat.AUTO, output.encode("utf-8", "surrogatepass")).outcomes:
        return ReportingLine(run, ReportFormat.AUTO)
    known = _suggest_for_python(run) or _suggest_for_node(run) or _suggest_for_compiled(run)
    return known or _suggest_by_output(run, output)


def _suggest_for_python(run: str) -> ReportingLine | None:
    if found := _PYTEST.search(run):
        options = " --junitxml={report}"
        return ReportingLine(f"{run[: found.end()]}{options}{run[found.end() :]}", ReportFormat.JUNIT)
    if found := _UNITTEST.search(run):
        return ReportingLine(_append_option(run, found, "-v"), ReportFormat.UNITTEST)
    if found := _DJANGO.search(run):
        return ReportingLine(_append_option(run, found, "-v 2"), ReportFormat.UNITTEST)
    return None


def _suggest_for_node(run: str) -> ReportingLine | None:
    if found := _JEST.search(run):
        return ReportingLine(_append_option(run, found, "--ci --verbose"), ReportFormat.JEST)
    if (found := _NODE.search(run)) is None:
        return None
    if found["runner"] == "node":
        is_runner = "--test" in found[0].split()
        line = run.replace("--test", "--test --test-reporter=tap", 1)
        return ReportingLine(line, ReportFormat.TAP) if is_runner else None
    options, report = NODE_REPORTERS[found["runner"]]
    return ReportingLine(_append_option(run, found, options), ReportFormat(report))


def _suggest_for_compiled(run: str) -> ReportingLine | None:
    if _CARGO.search(run):
        return ReportingLine(run, ReportFormat.CARGO)
    if found := _GO.search(run):
        return ReportingLine(f"{run[: found.end()]} -v{run[found.end() :]}", ReportFormat.GO)
    return None


def _suggest_by_output(run: str, output: str) -> ReportingLine | None:
    """Return the line of a command behind which another one runs the tests, as far as its runner takes settings."""
    if _PYTEST_SUM.search(output):
        return ReportingLine(f"PYTEST_ADDOPTS=--junitxml={{report}} {run}", ReportFormat.JUNIT)
    if _UNITTEST_SUM.search(output):
        return ReportingLine(_append_option(run, None, "-v"), ReportFormat.UNITTEST)
    if _MOCHA_SUM.search(output) and run.startswith("npm "):
        return ReportingLine(f"{run} -- --reporter tap", ReportFormat.TAP)
    return None


def _append_option(run: str, found: re.Match[str] | None, option: str) -> str:
    """Return the line with an option behind the command that was found in it, or at its end; no other verbosity."""
    if found is None:
        return f"{run} {option}"
    command = found[0].rstrip()
    if option.startswith("-v"):
        command = _VERBOSITY.sub("", command)
    rest = run[found.start() + len(found[0].rstrip()) :]
    return f"{run[: found.start()]}{command} {option}{rest}"
