"""Survey a whole repository, and find the command of its own tests."""

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.reports.reporter_options import JEST_JUNIT, NODE_REPORTERS
from orchestrator.migrate.scope.inventory import find_owners_file
from orchestrator.migrate.survey import layout
from orchestrator.migrate.survey.findings import Findings, TestCommand, TestRunner
from orchestrator.migrate.survey.layout import is_test
from orchestrator.migrate.survey.manifests import has_pytest, suggest_deps
from orchestrator.migrate.survey.pytest_files import find_pytest_file
from orchestrator.migrate.survey.repository_files import RepositoryFiles

_WRAPPERS = compile_lazily(r"^(?:(?:npx|nyc|c8|cross-env(?:\s+\w+=\S+)*|istanbul cover|--\S+)\s+)+")
_NESTED = compile_lazily(r"^(?:npm|yarn|pnpm)\s+(?:run(?:-script)?\s+)?(?:-s\s+|--silent\s+)?([\w:.-]+)$")
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
    return _build_node_command("npm test --silent", "exit-code", (note,))


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
    if runner not in NODE_REPORTERS or (runner == "node" and "--test" not in bare.split()):
        is_plain = re.fullmatch(r"node\s+\S+", bare)  # `node test.js`: TAP, or its exit code alone
        return _build_node_command(bare, "auto") if is_plain else None
    bare = re.sub(r"\s*\|.*$", "", bare)  # what it is piped into only makes it pretty
    if runner == "node":
        return _build_node_command(bare.replace("--test", "--test --test-reporter=tap", 1), "tap")
    if runner == "jest":
        return _build_jest(bare, package)
    options, report = NODE_REPORTERS[runner]
    if runner == "tap" and re.match(r"\D*0\.", str((package.get("devDependencies") or {}).get("tap", ""))):
        options = "--tap"  # before its first version it had no reporters
    if runner == "vitest" and " run" not in bare:
        bare = bare.replace("vitest", "vitest run", 1)
    return _build_node_command(f"{bare} {options}".strip(), report)


def _build_jest(line: str, package: Mapping[str, Any]) -> TestCommand:
    installed = {**(package.get("dependencies") or {}), **(package.get("devDependencies") or {})}
    if JEST_JUNIT in installed:
        run = f"JEST_JUNIT_OUTPUT_FILE={{report}} {line} --ci --reporters={JEST_JUNIT}"
        return _build_node_command(run, "junit")
    options, report = NODE_REPORTERS["jest"]
    return _build_node_command(f"{line} --ci {options}", report)


def _build_node_command(run: str, report: str, notes: tuple[str, ...] = ()) -> TestCommand:
    return TestCommand(run, report, TestRunner.NODE, "package.json", notes=notes)


_PYTEST = compile_lazily(r"(?:^|[\s\"'=,(/])(?:py\.test|pytest)(?![\w-])", re.MULTILINE)
_UNITTEST = compile_lazily(r"(?:-m\s+unittest|unittest[\"',\s]+discover)\b[^\n\"'#]*")
_RUNNER = compile_lazily(r"\b(?:python3?|\{envpython\})\s+(?:-\S+\s+)*((?:run_?tests|manage)\.py)\b")
_PLAIN_WORD = compile_lazily(r"[\w./-]+")
_UNWANTED = compile_lazily(r"--maxfail(?:=\d+)?|--exitfirst|-x|--(?:no-)?cov(?:-[\w-]+)?(?:=\S*)?")
"""Options that hide tests after the first failure, or measure coverage, which costs time and needs a plugin."""
_SAYING = ("tox.ini", "noxfile.py", "Makefile", "setup.cfg", "pyproject.toml", "setup.py", "requirements.txt")


def find_python_command(project: RepositoryFiles) -> TestCommand | None:
    """Return the command of the project's own tests; None if nothing tells."""
    for saying, addopts, testpaths in _list_pytest_settings(project):
        return _build_pytest(project, saying, addopts, testpaths)
    if "conftest.py" in {PurePosixPath(path).name for path in project.paths}:
        return _build_pytest(project, "conftest.py", "", "")
    if pytest_file := find_pytest_file(project):
        return _build_pytest(project, pytest_file, "", "")
    for name in _SAYING:
        if found := _find_in_file(project, name):
            return found
    for script in ("manage.py", "runtests.py", "run_tests.py"):
        if script in project.paths:
            return _build_script(script, script)
    if any(project.is_in_checkout(name, "bin", "pytest") for name in (".venv", "venv", "env")):
        return _build_pytest(project, "the environment, which has pytest", "", "")
    if any(map(is_test, project.list_with_suffix(".py"))):
        return TestCommand("python3 -m unittest -v", "unittest", TestRunner.PYTHON, "the names of test files")
    return None


def _list_pytest_settings(project: RepositoryFiles) -> Iterator[tuple[str, str, str]]:
    """Yield file, addopts and testpaths, in the order in which pytest looks."""
    for name, section in (("pytest.ini", "pytest"), (".pytest.ini", "pytest")):
        if name in project.paths:
            yield name, *_read_ini(project, name, section)
    tool = project.parse_toml("pyproject.toml").get("tool", {})
    if isinstance(tool, dict) and "pytest" in tool:
        options = tool["pytest"].get("ini_options", {}) if isinstance(tool["pytest"], dict) else {}
        yield "pyproject.toml", _join_words(options.get("addopts", "")), _join_words(options.get("testpaths", ""))
    for name, section in (("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        if project.parse_ini(name).has_section(section):
            yield name, *_read_ini(project, name, section)


def _read_ini(project: RepositoryFiles, name: str, section: str) -> tuple[str, str]:
    parser = project.parse_ini(name)
    addopts, testpaths = parser.get(section, "addopts", fallback=""), parser.get(section, "testpaths", fallback="")
    return addopts.replace("\n", " "), testpaths.replace("\n", " ")


def _join_words(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _find_in_file(project: RepositoryFiles, name: str) -> TestCommand | None:
    """Return the command that one file tells of, which may only mention a runner."""
    text = project.get_text(name)
    if _PYTEST.search(text):
        return _build_pytest(project, name, "", "")
    if (runner := _RUNNER.search(text)) and runner[1] in project.paths:
        return _build_script(runner[1], name)
    if found := _UNITTEST.search(text):
        words = found[0].replace("-m", "", 1).split()
        kept = [word for word in words[1:] if _PLAIN_WORD.fullmatch(word) and word not in {"-v", "-q"}]
        rest = " ".join(kept)
        return TestCommand(f"python3 -m unittest {rest} -v".replace("  ", " "), "unittest", TestRunner.PYTHON, name)
    return None


def _build_script(script: str, said: str) -> TestCommand:
    """Return the command for a script of the project's own that runs its tests."""
    if script == "manage.py":
        return TestCommand(f"python3 {script} test -v 2", "unittest", TestRunner.PYTHON, said)
    note = f"that {script} takes -v 2, for one line a test, is a guess: the report needs such lines"
    return TestCommand(f"python3 {script} -v 2", "unittest", TestRunner.PYTHON, said, notes=(note,))


def _build_pytest(project: RepositoryFiles, said: str, addopts: str, testpaths: str) -> TestCommand:
    kept, notes = _drop_unwanted(addopts), []
    if kept != addopts.split():
        notes.append(f"of addopts in {said}, what stops at a failure or measures coverage is left out")
    options = f" -o addopts={shlex.quote(' '.join(kept))}" if notes else ""
    return TestCommand(
        run=f"python3 -m pytest -q{options} --junitxml={{report}} {{tests}}",
        report="junit",
        runner=TestRunner.PYTEST,
        source_file=said,
        all=_quote_words(testpaths) or " ".join(map(shlex.quote, _list_test_directories(project))),
        notes=tuple(notes),
    )


def _drop_unwanted(addopts: str) -> list[str]:
    """Return the words of addopts that can stay."""
    kept: list[str] = []
    words = iter(addopts.split())
    for word in words:
        if word in {"--maxfail", "--cov-report", "--cov-config", "--cov-fail-under"}:
            next(words, None)
        elif not _UNWANTED.fullmatch(word):
            kept.append(word)
    return kept


def _quote_words(testpaths: str) -> str:
    try:
        return " ".join(map(shlex.quote, shlex.split(testpaths)))
    except ValueError:
        return ""


def _list_test_directories(project: RepositoryFiles) -> list[str]:
    """Return the topmost directories with tests; none if some lie at the top or beside the sources."""
    tops = set()
    for path in filter(is_test, project.list_with_suffix(".py")):
        place = PurePosixPath(path)
        if len(place.parts) > 1 and place.name.startswith("test_"):
            tops.add(place.parts[0])
    return sorted(tops) if tops <= {"test", "tests"} else []


def survey_repository(project: RepositoryFiles, wanted: str = "") -> Findings:
    """Return the findings for a recipe in the `wanted` language, or in the one that most of it is written in."""
    language = wanted or layout.detect_language(project)
    suffixes = layout.LANGUAGES.get(language, ())
    foreign = layout.build_exclude_globs(project.paths)
    files = []
    for path in project.list_with_suffix(*suffixes):
        if not layout.build_exclude_globs([path]):
            files.append(path)
    environments = layout.list_environments(project)
    command = _find_command(project, language)
    return Findings(
        language=language,
        all_files=tuple(f"*{suffix}" for suffix in filter(project.list_with_suffix, suffixes)) or ("*",),
        sources=layout.build_source_globs(files),
        tests=layout.build_test_globs(files),
        exclude=foreign,
        pairs=layout.build_pair_rules(files),
        command=command,
        codeowners=find_owners_file(project.paths),
        environments=environments,
        manifests=layout.list_manifests(project),
        deps=suggest_deps(project, command.runner) if command else (),
        branch=project.branch or None,
        unknown=tuple(_list_unknown(project, language, command)),
    )


def _find_command(project: RepositoryFiles, language: str) -> TestCommand | None:
    own, other = (
        (find_python_command, find_node_command)
        if language in {"python", ""}
        else (find_node_command, find_python_command)
    )
    return own(project) or (None if language else other(project))


def _list_unknown(project: RepositoryFiles, language: str, command: TestCommand | None) -> Iterator[str]:
    """Yield what a person has to look at."""
    if not language:
        yield "a language that is known here"
    if command is None:
        yield "the test command: write it in [[verify.check]]"
    elif command.runner is TestRunner.PYTEST and layout.list_manifests(project) and not has_pytest(project):
        yield "pytest among the dependencies of the project: an environment made from them could not run the tests"
    if not layout.list_environments(project):
        yield "an environment for the tests in the checkout (.venv, venv, node_modules)"
