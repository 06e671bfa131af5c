"""The ratchet of files: what tests rest on changes only where the plan grants it, visibly.

Of some files only sections decide about tests and builds: those are compared, the rest may change.
"""

import configparser
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from orchestrator.domain.judging.verdict import Finding, RuleId
from orchestrator.domain.run.grant import PLAIN_INTENTS, Grant, GrantIntent, format_grant_advice
from orchestrator.domain.text.encoding import decode_json
from orchestrator.judge.files.changed_file import AddedLine, ChangedFile, PathProtection, find_path_protection
from orchestrator.judge.gate_files.finder import fold_path
from orchestrator.judge.rules.change_facts import ChangeFacts, build_flag
from orchestrator.judge.rules.evolved_tests import ProtectionProblem, find_test_file_problem
from orchestrator.judge.rules.suppressions import get_suppression_kinds
from orchestrator.judge.source.additions_only import describe_non_additive_change
from orchestrator.judge.support.additions import has_only_additions
from orchestrator.judge.support.division import Support

_Sections = Mapping[str, Any]
_TOOLS = (
    *("pytest", "coverage", "tox", "nox", "hatch", "poe", "setuptools"),
    *("poetry-dynamic-versioning", "pdm", "mutmut"),
)
_NPM = ("scripts", "jest", "mocha", "ava", "tap", "nyc", "c8", "vitest", "overrides", "resolutions")
_CARGO_TABLES = ("test", "bench", "patch", "replace")
_CARGO_KEYS: Mapping[str, tuple[str, ...]] = {
    "lib": ("test", "doctest", "harness", "path"),
    "package": ("autotests", "build"),
    "profile": ("test", "dev"),
    "workspace": ("exclude", "default-members"),
}
_INI = ("tool:", "coverage:", "aliases", "nosetests", "unittest", "tox", "testenv", "build")

_CONFTEST = "conftest.py"
_ENTRY_POINTS = "options.entry_points"


def has_protected_sections(path: str) -> bool:
    """Return True if a file is looked at by sections."""
    return PurePosixPath(path).name in _READERS


def find_altered_sections(path: str, before: bytes | None, after: bytes | None) -> tuple[str, ...] | None:
    """Return the names of the protected sections that differ; None if the file is none that is looked at by sections.

    A file that cannot be read any more differs as a whole; None as content stands for no file.
    """
    reader = _READERS.get(PurePosixPath(path).name)
    if reader is None:
        return None
    try:
        old, new = _read_sections(reader, before), _read_sections(reader, after)
    except (ValueError, RecursionError, configparser.Error) as error:
        return (f"the whole file, which cannot be read ({str(error).splitlines()[0]})",)
    return tuple(name for name in sorted(old.keys() | new.keys()) if old.get(name) != new.get(name))


def _read_sections(reader: Callable[[str], _Sections], content: bytes | None) -> _Sections:
    return {} if content is None else reader(content.decode())


def _read_pyproject(text: str) -> _Sections:
    values = tomllib.loads(text)
    tools, project = _get_table(values.get("tool")), _get_table(values.get("project"))
    sections: dict[str, Any] = {f"tool.{name}": tools[name] for name in _TOOLS if name in tools}
    if "build-system" in values:
        sections["build-system"] = values["build-system"]
    for name, value in _get_table(project.get("entry-points")).items():
        if name.startswith("pytest"):
            sections[f"project.entry-points.{name}"] = value
    return sections


def _read_package_json(text: str) -> _Sections:
    values = _get_table(decode_json(text))
    return {name: values[name] for name in _NPM if name in values}


def _read_cargo(text: str) -> _Sections:
    """Return what of a crate's manifest says which tests there are, and what is built and run for them."""
    values = tomllib.loads(text)
    sections = {name: values[name] for name in _CARGO_TABLES if name in values}
    for name, keys in _CARGO_KEYS.items():
        table = _get_table(values.get(name))
        for key in keys:
            if key in table:
                sections[f"{name}.{key}"] = table[key]
    for name in ("bin", "example"):
        targets = values.get(name)
        for target in filter(None, map(_get_table, targets if isinstance(targets, list) else ())):
            for key in {"test", "harness"} & target.keys():
                sections[f"{name}.{target.get('name')}.{key}"] = target[key]
    return sections


def _read_setup_cfg(text: str) -> _Sections:
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    parser.read_string(text)
    sections: dict[str, Any] = {}
    for name in parser.sections():
        if name.startswith(_INI):
            sections[name] = dict(parser.items(name))
    if parser.has_section(_ENTRY_POINTS):
        for name, value in parser.items(_ENTRY_POINTS):
            if name.startswith("pytest"):
                sections[f"{_ENTRY_POINTS}.{name}"] = value
    return sections


def _get_table(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


_READERS: Mapping[str, Callable[[str], _Sections]] = {
    "pyproject.toml": _read_pyproject,
    "package.json": _read_package_json,
    "setup.cfg": _read_setup_cfg,
    "Cargo.toml": _read_cargo,
}


_ADVICE = {
    PathProtection.TESTS: (
        "put new tests beside the old ones, or into a file of their own, and leave the old ones alone"
    ),
    PathProtection.CONFIGURATION: "leave everything of that kind as it is on the base",
    PathProtection.STARTER: "do without it",
    PathProtection.SHADOW: "name it otherwise",
    PathProtection.SUPPORT: "leave what it says as it is on the base, or put what is new into a file of its own",
    PathProtection.GATE: "leave it as it is on the base",
}


_UNWATCHED = (
    "nobody could watch which files the gate opens on the base, so data and helpers of tests outside of test folders "
    "are not protected: look at what the change does to such files"
)


def needs_content(path: str) -> bool:
    """Return True if a rule needs the contents of a changed file, and not only its path."""
    return path.endswith((".py", ".pyi", ".rs")) or has_protected_sections(path) or bool(get_suppression_kinds(path))


def check_protected_files(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a blocking finding for each protected file that was changed without a grant; it says what to do."""
    if not facts.is_base_watched:
        yield build_flag(RuleId.PROTECTED, _UNWATCHED)
    for file in facts.files:
        if _is_free(file, facts):
            continue
        problem = _find_problem(file, facts)
        if problem is not None:
            text = problem.text
            if problem.grant is not None:
                text = f"{text}; or {format_grant_advice(problem.grant)}"
            yield Finding(
                rule=RuleId.PROTECTED, text=text, path=file.path, is_blocking=True, needed_grant=problem.grant
            )
        elif (support := facts.support.get(file.path)) is not None and not support.is_certain:
            yield _build_doubt(file, support, facts.lines)


def check_newcomers(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a finding for each new file that the gate's run read unasked; it blocks where no person has to look."""
    for path, newcomer in facts.newcomers.items():
        text = f"{path} is new, and {newcomer.reason}"
        advice = ", which the plan did not grant: do without it, or name in code what has to be read"
        yield facts.build_finding(RuleId.PICKED_UP, text, path, advice=advice, is_severe=newcomer.is_certain)


def _build_doubt(file: ChangedFile, support: Support, lines: Sequence[AddedLine]) -> Finding:
    line = next((line.number for line in lines if line.path == file.path), None)
    text = f"{file.path} was {_describe_change(file)}: the gate's tests may rest on it, as {support.reason}"
    return build_flag(RuleId.PROTECTED, text, file.path, line)


def _is_free(file: ChangedFile, facts: ChangeFacts) -> bool:
    """Return True if the plan lets the whole file become what it is now."""
    if find_path_protection(file.path) == PathProtection.TESTS:
        return facts.is_granted(file.path, GrantIntent.REWRITE)
    if file.is_deleted:
        return facts.is_granted(file.path, *PLAIN_INTENTS, GrantIntent.REMOVE)
    return facts.is_granted(file.path)


def _find_problem(file: ChangedFile, facts: ChangeFacts) -> ProtectionProblem | None:
    if needs_content(file.path) and file.is_unread:
        return ProtectionProblem(f"{file.path} is one of too many changed files to look into: do less at once", None)
    grant = Grant(paths=(file.path,), may=(_find_intent(file),))
    sections = find_altered_sections(file.path, file.before, file.after)
    if sections is not None:
        if sections:
            names = ", ".join(sections)
            return ProtectionProblem(
                f"{file.path}: {names} may change only where the plan grants it: leave it as it was", grant
            )
        return None
    protection = _find_protection(file, facts.gate_files)
    if protection is None and (support := facts.support.get(file.path)) is not None:
        return _find_altered_support(file, support, grant)
    if protection is None or (protection == PathProtection.CONFIGURATION and _gains_fixtures_only(file)):
        return None
    problem = ProtectionProblem("", grant)
    if protection == PathProtection.TESTS:
        found = find_test_file_problem(file, facts)
        if found is None:
            return None
        problem = found
    change = f"{file.path} is {protection} and was {_describe_change(file)}, which the plan did not grant"
    return ProtectionProblem(f"{change}: {_advise(file, protection, problem.text)}", problem.grant)


def _gains_fixtures_only(file: ChangedFile) -> bool:
    """Return True for a conftest.py of which all stands in it still, and what is new runs around no test by itself."""
    if PurePosixPath(file.path).name != _CONFTEST or file.is_deleted or not file.is_python:
        return False
    return file.after is not None and not describe_non_additive_change(file.before or b"", file.after)


def _find_intent(file: ChangedFile) -> GrantIntent:
    if file.is_new:
        return GrantIntent.ADD
    return GrantIntent.REMOVE if file.is_deleted else GrantIntent.REWRITE


def _find_altered_support(file: ChangedFile, support: Support, grant: Grant) -> ProtectionProblem | None:
    if not support.is_certain or has_only_additions(file):
        return None
    protection = PathProtection.SUPPORT
    change = f"{file.path} is {protection} ({support.reason}) and was {_describe_change(file)}"
    return ProtectionProblem(f"{change}, which the plan did not grant: {_ADVICE[protection]}", grant)


def _find_protection(file: ChangedFile, gate_files: Collection[str]) -> PathProtection | None:
    protection = find_path_protection(file.path)
    if protection == PathProtection.SHADOW and not file.is_new:
        protection = None  # the base's own module of that name, to which its tests are used
    if protection is None and fold_path(file.path) in gate_files:
        return PathProtection.GATE
    return protection


def _advise(file: ChangedFile, protection: PathProtection, why: str) -> str:
    if why:
        return f"{why}; {_ADVICE[protection]}"
    if protection == PathProtection.TESTS and not file.is_deleted:
        return "put new tests into a file of their own"
    return _ADVICE[protection]


def _describe_change(file: ChangedFile) -> str:
    if file.is_new:
        return "added"
    if file.is_deleted:
        return "removed"
    return "changed"
