"""Files that a verifier may write: new files of tests and scripts, of bounded size, that are what they are called."""

from collections.abc import Collection
from pathlib import PurePosixPath

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.files.changed_file import PathProtection, find_path_protection
from orchestrator.judge.source.python_syntax import parse_source
from worktrees.safety.path_rules import find_path_objection, is_legible_path

MAX_FILE_CHARS = 40_000
MAX_SCRIPTS = 6
"""Scripts of one task: each is a run of its own, in which the project may have to be built."""
_SUFFIXES = (".py", ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".go", ".rb", ".java", ".kt", ".php", ".rs")
_PERL_TEST = ".t"
_SCRIPT_NAME = compile_lazily(r"[a-z0-9][a-z0-9_-]{0,60}\.sh")
_NO_TESTS = frozenset({"__init__", "__main__", "conftest", "setup", "index"})


def find_file_problem(path: str, text: str, known_paths: Collection[str], taken_stems: Collection[str]) -> str:
    """Return why a file cannot be one of a verifier's; empty if it can. Blocks while it is parsed.

    Args:
        path: relative to the repository.
        text: its content.
        known_paths: all paths of the base.
        taken_stems: folded names, without suffix, of the tests of the base and of the verifier's other files.
    """
    if problem := _find_path_problem(path):
        return problem
    if path in known_paths:
        return "the repository has this file already: write new files only"
    if fold_stem(path) in taken_stems:
        return f"another file of tests is called {fold_stem(path)} as well: choose another name"
    if problem := _find_text_problem(text):
        return problem
    return _find_python_problem(text) if path.endswith(".py") else ""


def find_script_problem(name: str, text: str, taken_stems: Collection[str]) -> str:
    """Return why a script cannot be one of a verifier's; empty if it can.

    Args:
        name: of the script, which stands in no tree.
        text: its content.
        taken_stems: folded names, without suffix, of the verifier's other files.
    """
    if not _SCRIPT_NAME.fullmatch(name):
        return "call it by a plain name in small letters, digits and hyphens that ends in .sh, without a folder"
    if fold_stem(name) in taken_stems:
        return f"another file of tests is called {fold_stem(name)} as well: choose another name"
    return _find_text_problem(text)


def _find_text_problem(text: str) -> str:
    if len(text) > MAX_FILE_CHARS:
        return f"it has {len(text):,} characters; write at most {MAX_FILE_CHARS:,}"
    if not text.strip():
        return "it is empty"
    if "\0" in text:
        return "it holds a NUL character"
    return ""


def is_verifier_path(path: str) -> bool:
    """Return True if a file of tests can lie here, by its path alone."""
    return not _find_path_problem(path)


def _find_path_problem(path: str) -> str:
    place = PurePosixPath(path)
    if objection := find_path_objection(path):
        return f"its path cannot be used: {objection}"
    if not is_legible_path(path):
        return "its path has characters that nobody sees"
    protection = find_path_protection(path)
    is_test = protection == PathProtection.TESTS and place.suffix in _SUFFIXES
    is_perl_test = protection in {PathProtection.TESTS, None} and place.suffix == _PERL_TEST
    if not (is_test or is_perl_test) or place.stem in _NO_TESTS:
        return "it is no file of tests by its path: name it and put it as the project's tests are, without conftest.py"
    return ""


def fold_stem(path: str) -> str:
    """Return a file's name without suffixes, as file systems compare it that do not tell case apart."""
    return PurePosixPath(path).name.partition(".")[0].casefold()


def _find_python_problem(text: str) -> str:
    try:
        parse_source(text)
    except SyntaxError as error:
        return f"it is no Python: line {error.lineno}: {error.msg}"
    except (ValueError, LookupError, RecursionError, MemoryError) as error:
        return f"it cannot be read as Python: {error}"
    return ""
