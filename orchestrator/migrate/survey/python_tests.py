"""The tests of a Python project."""

import re
import shlex
from collections.abc import Iterator
from pathlib import PurePosixPath

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.migrate.survey.findings import TestCommand
from orchestrator.migrate.survey.layout import is_test
from orchestrator.migrate.survey.repository_files import RepositoryFiles

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
    for name in _SAYING:
        if found := _find_in_file(project, name):
            return found
    for script in ("manage.py", "runtests.py", "run_tests.py"):
        if script in project.paths:
            return _build_script(script, script)
    if any(project.is_in_checkout(name, "bin", "pytest") for name in (".venv", "venv", "env")):
        return _build_pytest(project, "the environment, which has pytest", "", "")
    if any(map(is_test, project.list_with_suffix(".py"))):
        return TestCommand("python -m unittest -v", "unittest", "the names of test files")
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
        return TestCommand(f"python -m unittest {rest} -v".replace("  ", " "), "unittest", name)
    return None


def _build_script(script: str, said: str) -> TestCommand:
    """Return the command for a script of the project's own that runs its tests."""
    if script == "manage.py":
        return TestCommand(f"python {script} test -v 2", "unittest", said)
    note = f"that {script} takes -v 2, for one line a test, is a guess: the report needs such lines"
    return TestCommand(f"python {script} -v 2", "unittest", said, notes=(note,))


def _build_pytest(project: RepositoryFiles, said: str, addopts: str, testpaths: str) -> TestCommand:
    kept, notes = _drop_unwanted(addopts), []
    if kept != addopts.split():
        notes.append(f"of addopts in {said}, what stops at a failure or measures coverage is left out")
    options = f" -o addopts={shlex.quote(' '.join(kept))}" if notes else ""
    return TestCommand(
        run=f"python -m pytest -q{options} --junitxml={{report}} {{tests}}",
        report="junit",
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
