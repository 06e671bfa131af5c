"""The gate's command, narrowed to some files of tests, where its runner takes files and there is no shell syntax."""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence

from orchestrator.domain.judging.check import CheckSpec, ReportFormat
from orchestrator.domain.text.lazy_pattern import compile_lazily

_SHELL_SYNTAX = compile_lazily(r"[;&|<>()`$\n*?\[\]{}~#!\\]")
_REPORT = "{report}"
_REPORT_WORD = "REPORT-OF-THE-CHECK"
_STOPS = frozenset({"-x", "--exitfirst", "--bail", "--maxfail"})
_UNITTEST_FLAGS = frozenset({"-v", "--verbose", "-c", "--catch"})
_KEYWORD = compile_lazily(r"[A-Za-z_]\w*")
_TAKES_VALUE = compile_lazily(r"-[cpkmnoWrgt]|--[^=]+")
_NO_FAIL_FAST = "--no-fail-fast"
_CARGO_TEST = compile_lazily(r"(?<![\w.-])cargo(?: \+\S+)? test(?= |\Z)")
_CARGO_LINE = compile_lazily(
    r"(?P<head>(?:[A-Za-z_]\w*=[\w./:$,+-]* +)*[\w./-]*(?<![\w.-])cargo(?: \+[\w.-]+)? test)"
    r"(?P<options>(?: +[\w./:=,+-]+)*) *"
)
_CARGO_TEST_FILE = compile_lazily(r"(?:[^/]+/)*tests/([\w-]+)\.rs")
_CARGO_SILENT = frozenset({"-q", "--quiet", _NO_FAIL_FAST})
_CARGO_OTHER_TESTS = frozenset({"--doc", "--no-run", "--"})


def narrow_to_files(spec: CheckSpec, paths: Sequence[str]) -> CheckSpec | None:
    """Return the check as its runner runs these files and nothing else; None where that cannot be told.

    What is told of the runner's options stays. A word that may be the value of an option stays as well: then more tests
    run than were asked for, and never fewer.
    """
    if match := _CARGO_LINE.fullmatch(spec.run):
        return _narrow_cargo(spec, match["head"], match["options"].split(), paths)
    line = spec.run.replace(_REPORT, _REPORT_WORD)
    if _SHELL_SYNTAX.search(line):
        return None
    try:
        words = shlex.split(line)
    except ValueError:
        return None
    for place, word in enumerate(words):
        narrow = _find_runner(words, place, word)
        if narrow is not None:
            rest = list(narrow(words[place + 1 :]))
            files = [shlex.quote(path) for path in paths]
            kept = [shlex.quote(word) for word in (*words[: place + 1], *rest)]
            run = " ".join((*kept, *files)).replace(_REPORT_WORD, _REPORT)
            return spec.model_copy(update={"run": _unquote_variables(run)})
    return None


def narrow_by_keyword(spec: CheckSpec, paths: Sequence[str]) -> CheckSpec | None:
    """Return the check told by pytest's own variable to run the modules of these files; None if that cannot be said.

    It serves where pytest stands behind another command. Tests that are named like a module run as well.
    """
    if spec.report not in {ReportFormat.AUTO, ReportFormat.JUNIT}:
        return None
    names = [path.rpartition("/")[2].removesuffix(".py") for path in paths]
    if not all(_KEYWORD.fullmatch(name) for name in names):
        return None
    options = shlex.quote(f" -k {shlex.quote(' or '.join(names))}")
    return spec.model_copy(update={"run": f'export PYTEST_ADDOPTS="${{PYTEST_ADDOPTS:-}}"{options}\n{spec.run}'})


def _narrow_cargo(spec: CheckSpec, head: str, options: Sequence[str], paths: Sequence[str]) -> CheckSpec | None:
    """Return the check for integration tests alone, with the names of its tests printed; None for other files."""
    if not _CARGO_OTHER_TESTS.isdisjoint(options):
        return None
    words = [head, _NO_FAIL_FAST]
    words += [option for option in options if option not in _CARGO_SILENT]
    for path in paths:
        match = _CARGO_TEST_FILE.fullmatch(path)
        if match is None:
            return None
        words += ["--test", match[1]]
    return spec.model_copy(update={"run": " ".join(words)})


def run_past_failures(spec: CheckSpec) -> CheckSpec:
    """Return the check with `cargo test` going on to the other files of tests after one that fails."""
    if _NO_FAIL_FAST in spec.run:
        return spec
    return spec.model_copy(update={"run": _CARGO_TEST.sub(rf"\g<0> {_NO_FAIL_FAST}", spec.run)})


def _unquote_variables(run: str) -> str:
    """Return the line with assignments before the command as the shell takes them: with the value alone in quotes."""
    return re.sub(r"'([A-Za-z_][A-Za-z0-9_]*)=([^']*)'", r"\1='\2'", run)


_Narrow = Callable[[Sequence[str]], Iterator[str]]


def _find_runner(words: Sequence[str], place: int, word: str) -> _Narrow | None:
    name = word.rpartition("/")[2]
    before = words[place - 1] if place else ""
    if name == "unittest" and before == "-m":
        rest = words[place + 1 :]
        is_plain = not {"-s", "-p", "-t", "-k", "--start-directory", "--pattern"} & set(rest)
        return _keep_unittest_flags if is_plain else None
    if name == "node" and "--test" not in words[place + 1 :]:
        return None
    return _RUNNERS.get(name)


def _keep_unittest_flags(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        if word in _UNITTEST_FLAGS:
            yield word


def _keep_options(words: Sequence[str]) -> Iterator[str]:
    """Yield the options, and words that may be their values, without those that end a run early."""
    before = ""
    for word in words:
        is_option = word.startswith("-") and word != "--"
        is_value = not is_option and before not in _STOPS and _TAKES_VALUE.fullmatch(before) is not None
        if is_value or (is_option and word.partition("=")[0] not in _STOPS):
            yield word
        before = word if is_option else ""


def _keep_vitest_words(words: Sequence[str]) -> Iterator[str]:
    if words[:1] == ["run"]:
        yield "run"
        words = words[1:]
    yield from _keep_options(words)


_RUNNERS: Mapping[str, _Narrow] = {
    **dict.fromkeys(("pytest", "py.test", "node", "mocha", "jest"), _keep_options),
    "vitest": _keep_vitest_words,
}
"""Runners that take files as words → what they keep of a command's words."""
