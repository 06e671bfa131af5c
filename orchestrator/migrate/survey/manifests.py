"""Suggest what `[env] deps` could install, from the files in which a project lists its dependencies."""

import re
from typing import Any

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.migrate.survey.findings import TestRunner
from orchestrator.migrate.survey.repository_files import REQUIREMENT_FILES, RepositoryFiles

_GROUP_NAMES = ("test", "tests", "testing", "dev", "development")
_PYTEST_LINE = compile_lazily(r"^\s*pytest\b(?!-)", re.MULTILINE)
_PYPROJECT = "pyproject.toml"
_NODE_LOCK = "package-lock.json"


def suggest_deps(project: RepositoryFiles, runner: TestRunner) -> tuple[str, ...]:
    """Return entries for `[env] deps` with which the tests could run; () if no file lists any."""
    if runner is TestRunner.NODE:
        return tuple(filter(project.paths.__contains__, (_NODE_LOCK,)))
    files = [name for name in REQUIREMENT_FILES if name in project.paths]
    with_pytest = [name for name in files if _PYTEST_LINE.search(project.get_text(name))]
    groups = _list_groups(project.parse_toml(_PYPROJECT))
    if runner is TestRunner.PYTEST and not with_pytest:
        found = _suggest_group(groups, needs_pytest=True)
        if found:
            return (found,)
    chosen = (with_pytest or files)[:1]
    if chosen and "requirements.txt" in files and "requirements.txt" not in chosen:
        chosen.insert(0, "requirements.txt")
    return tuple(chosen) or tuple(filter(None, (_suggest_group(groups, needs_pytest=False),)))


def has_pytest(project: RepositoryFiles) -> bool:
    """Return True if a file in which dependencies are listed names pytest."""
    texts = map(project.get_text, REQUIREMENT_FILES)
    groups = _list_groups(project.parse_toml(_PYPROJECT))
    return any(map(_PYTEST_LINE.search, texts)) or _suggest_group(groups, needs_pytest=True) != ""


def _list_groups(document: dict[str, Any]) -> dict[str, list[str]]:
    """Return the requirements of each group of pyproject.toml, those of the project itself under an empty name."""
    project = document.get("project")
    if not isinstance(project, dict) or "dependencies" in project.get("dynamic", ()):
        return {}
    groups: dict[str, list[str]] = {}
    tables = (
        {"": project.get("dependencies")},
        project.get("optional-dependencies"),
        document.get("dependency-groups"),
    )
    for table in tables:
        for name, lines in (table if isinstance(table, dict) else {}).items():
            if isinstance(lines, list):
                groups[name] = [line for line in lines if isinstance(line, str)]
    return groups


def _suggest_group(groups: dict[str, list[str]], *, needs_pytest: bool) -> str:
    """Return the entry for pyproject.toml with the group that has pytest, or else one named for tests; or nothing."""
    for name, lines in groups.items():
        if any(map(_PYTEST_LINE.match, lines)):
            return _build_entry(name)
    if needs_pytest:
        return ""
    for name in _GROUP_NAMES:
        if groups.get(name):
            return _build_entry(name)
    return _PYPROJECT if groups.get("") else ""


def _build_entry(group: str) -> str:
    return f"{_PYPROJECT}[{group}]" if group else _PYPROJECT
