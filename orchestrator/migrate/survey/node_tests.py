"""The tests of a JavaScript or TypeScript project: its own script, with a report that tells of each test."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.migrate.survey.findings import TestCommand
from orchestrator.migrate.survey.repository_files import RepositoryFiles

_REPORTERS: Mapping[str, tuple[str, str]] = {
    "tape": ("", "tap"),
    "mocha": ("--reporter tap", "tap"),
    "vitest": ("--reporter=junit --outputFile={report}", "junit"),
    "ava": ("--tap", "tap"),
    "tap": ("--reporter=tap", "tap"),
    "node": ("", "tap"),
    "jest": ("", "exit-code"),
}
"""Runner → what makes it report each test, and the format of that."""
_WRAPPERS = compile_lazily(r"^(?:(?:npx|nyc|c8|cross-env(?:\s+\w+=\S+)*|istanbul cover|--\S+)\s+)+")
_NESTED = compile_lazily(r"^(?:npm|yarn|pnpm)\s+(?:run(?:-script)?\s+)?(?:-s\s+|--silent\s+)?([\w:.-]+)$")
_JEST_JUNIT = "jest-junit"
_DEPTH = 5


def find_node_command(project: RepositoryFiles) -> TestCommand | None:
    """Return the command of the project's own tests; None if package.json names none."""
    package = project.parse_json("package.json")
    scripts = package.get("scripts")
    script = scripts.get("test") if isinstance(scripts, dict) else None
    if not isinstance(scripts, dict) or not isinstance(script, str) or "no test specified" in script:
        return None
    for line in _list_commands(scripts, "test", _DEPTH):
        if found := _add_reporter(line, package):
            return found
    note = "none of its runners is known: only the exit code counts, which tells nothing of single tests"
    return TestCommand("npm test --silent", "exit-code", "package.json", notes=(note,))


def _list_commands(scripts: Mapping[str, Any], name: str, depth: int) -> Iterator[str]:
    """Yield the commands of a script, with those of scripts that it runs in their places."""
    for part in re.split(r"\s*&&\s*|\s*;\s*", str(scripts.get(name, "")).strip()):
        nested = _NESTED.match(part)
        if nested and nested[1] in scripts and nested[1] != name and depth:
            yield from _list_commands(scripts, nested[1], depth - 1)
        elif part:
            yield part


def _add_reporter(line: str, package: Mapping[str, Any]) -> TestCommand | None:
    """Return the line with a reporter, if a known runner is what it starts."""
    bare = _WRAPPERS.sub("", line)
    runner = re.split(r"\s", bare, maxsplit=1)[0].rpartition("/")[2]
    if runner not in _REPORTERS or (runner == "node" and "--test" not in bare.split()):
        is_plain = re.fullmatch(r"node\s+\S+", bare)  # `node test.js`: TAP, or its exit code alone
        return TestCommand(bare, "auto", "package.json") if is_plain else None
    bare = re.sub(r"\s*\|.*$", "", bare)  # what it is piped into only makes it pretty
    if runner == "node":
        return TestCommand(bare.replace("--test", "--test --test-reporter=tap", 1), "tap", "package.json")
    if runner == "jest":
        return _build_jest(bare, package)
    options, report = _REPORTERS[runner]
    if runner == "tap" and re.match(r"\D*0\.", str((package.get("devDependencies") or {}).get("tap", ""))):
        options = "--tap"  # before its first version it had no reporters
    if runner == "vitest" and " run" not in bare:
        bare = bare.replace("vitest", "vitest run", 1)
    return TestCommand(f"{bare} {options}".strip(), report, "package.json")


def _build_jest(line: str, package: Mapping[str, Any]) -> TestCommand:
    installed = {**(package.get("dependencies") or {}), **(package.get("devDependencies") or {})}
    if _JEST_JUNIT in installed:
        run = f"JEST_JUNIT_OUTPUT_FILE={{report}} {line} --ci --reporters={_JEST_JUNIT}"
        return TestCommand(run, "junit", "package.json")
    note = f"jest tells of single tests with {_JEST_JUNIT} installed; without it only its exit code counts"
    return TestCommand(f"{line} --ci", "exit-code", "package.json", notes=(note,))
