"""Changed settings of linters and type checkers, which decide what those ask for."""

import tomllib
from collections.abc import Iterator, Sequence
from typing import Any

from orchestrator.domain.judging.rules import RuleId
from orchestrator.domain.judging.verdict import Finding
from orchestrator.judge.files.changed_file import ChangedFile
from orchestrator.judge.files.path_globs import PathGlobs
from orchestrator.judge.rules.change_facts import ChangeFacts

_SETTINGS_FILES = PathGlobs(
    (
        *(".flake8", "mypy.ini", ".mypy.ini", "ruff.toml", ".ruff.toml", ".pylintrc", "pylintrc", "pyrightconfig.json"),
        *(".eslintrc*", "eslint.config.*", ".eslintignore", "tsconfig*.json", "biome.json*", ".golangci.*"),
        *("clippy.toml", ".clippy.toml", ".rubocop.yml", ".rubocop_todo.yml", ".shellcheckrc", ".clang-tidy"),
        *(".bandit", ".semgrepignore", "phpstan.neon*", "psalm.xml", "checkstyle.xml", "detekt.yml", ".swiftlint.yml"),
    )
)
_TOOLS = ("ruff", "mypy", "pyright", "basedpyright", "pylint", "flake8", "ty", "bandit", "isort", "black")
_CHANGE = "sets what linters or type checkers ask for, and was changed"


def check_linter_settings(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each file of the base whose settings for such tools differ; none of them blocks."""
    for file in facts.files:
        if file.is_deleted or file.is_new:
            continue
        if file.path.endswith("pyproject.toml"):
            sections = ", ".join(_list_changed_sections(file))
            text = f"{file.path}: {sections} {_CHANGE}"
            has_changed = bool(sections)
        else:
            text = f"{file.path} {_CHANGE}"
            has_changed = _SETTINGS_FILES.match_file(file.path)
        if has_changed:
            yield Finding(rule=RuleId.LINTER, text=text, path=file.path, is_blocking=False)


def _list_changed_sections(file: ChangedFile) -> Sequence[str]:
    old, new = _read_tools(file.before), _read_tools(file.after)
    return [f"tool.{name}" for name in _TOOLS if old.get(name) != new.get(name)]


def _read_tools(content: bytes | None) -> dict[str, Any]:
    try:
        tools = tomllib.loads((content or b"").decode()).get("tool")
    except (ValueError, RecursionError):
        return {}
    return tools if isinstance(tools, dict) else {}
