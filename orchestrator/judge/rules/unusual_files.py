"""Files that deserve a look for what they are: generated, minified, binary, executable, links, settings of linters."""

import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

from pathspec import GitIgnoreSpec

from orchestrator.domain.judging.verdict import Finding
from orchestrator.judge.files.changed_file import SYMLINK_MODE, ChangedFile
from orchestrator.judge.files.classification import find_generated_mark, is_binary, is_minified

_EXECUTABLE = "100755"
_SUBMODULE = "160000"
_LINTERS = GitIgnoreSpec.from_lines(
    (
        *(".flake8", "mypy.ini", ".mypy.ini", "ruff.toml", ".ruff.toml", ".pylintrc", "pylintrc", "pyrightconfig.json"),
        *(".eslintrc*", "eslint.config.*", ".eslintignore", "tsconfig*.json", "biome.json*", ".golangci.*"),
        *("clippy.toml", ".clippy.toml", ".rubocop.yml", ".rubocop_todo.yml", ".shellcheckrc", ".clang-tidy"),
        *(".bandit", ".semgrepignore", "phpstan.neon*", "psalm.xml", "checkstyle.xml", "detekt.yml", ".swiftlint.yml"),
    )
)
_TOOLS = ("ruff", "mypy", "pyright", "basedpyright", "pylint", "flake8", "ty", "bandit", "isort", "black")


def check_unusual_files(files: Sequence[ChangedFile]) -> Iterator[Finding]:
    """What is to be told of files by their kinds; none of it blocks."""
    for file in files:
        for rule, told in () if file.is_deleted else _kinds(file):
            yield Finding(rule=rule, text=f"{file.path}{told}", is_blocking=False)


def _kinds(file: ChangedFile) -> Iterator[tuple[str, str]]:
    yield from _modes(file)
    if named := _linters(file):
        yield "linter", f"{named.rstrip()} sets what linters or type checkers ask for, and was changed"
    if file.after is None or file.new_mode == SYMLINK_MODE or file.after == file.before:
        return
    if is_binary(file.after):
        yield "binary", f" is binary ({_size(file.after)}), so that no diff shows what it holds"
        return
    if is_minified(file.path, file.after):
        yield "generated", " is minified, so that nobody can read it"
    line = find_generated_mark(file.before)
    if line is not None:
        yield "generated", f":{line} says that a program writes this file: was it made anew, or edited by hand?"


def _linters(file: ChangedFile) -> str:
    """What of a file that the base has decides about linters: a space for all of it, or the sections; else nothing."""
    if file.is_new or not file.path.endswith("pyproject.toml"):
        if file.is_new or not _LINTERS.match_file(file.path):
            return ""
        return " "
    old, new = _tools(file.before), _tools(file.after)
    named = []
    for name in _TOOLS:
        if old.get(name) != new.get(name):
            named.append(f"tool.{name}")
    if named:
        return f": {', '.join(named)}"
    return ""


def _tools(content: bytes | None) -> dict[str, Any]:
    try:
        tools = tomllib.loads((content or b"").decode()).get("tool")
    except (ValueError, RecursionError):
        return {}
    if isinstance(tools, dict):
        return tools
    return {}


def _modes(file: ChangedFile) -> Iterator[tuple[str, str]]:
    if file.new_mode == file.old_mode:
        return
    if file.new_mode == _EXECUTABLE:
        yield "mode", " can be executed, and could not before" if not file.is_new else " is new and can be executed"
    elif file.new_mode == SYMLINK_MODE:
        target = (file.after or b"").decode("utf-8", "replace")
        yield "mode", f" is a link now, to {target[:200]!a}" if target else " is a link now"
    elif file.new_mode == _SUBMODULE:
        yield "mode", " is a submodule now, whose content is not in this diff"


def _size(content: bytes) -> str:
    if len(content) < 10_000:
        return f"{len(content):,} bytes"
    return f"{len(content) / 1_000:,.0f} kB"
