"""Find test files that only pytest can run, by what they import and how they define tests."""

import re
from pathlib import PurePosixPath

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.migrate.survey.layout import is_test
from orchestrator.migrate.survey.repository_files import RepositoryFiles

MAX_TEST_FILES = 300
"""Files whose text is looked at: one of many tells enough."""
_IMPORT = compile_lazily(r"^[ \t]*(?:import|from)[ \t]+_?pytest\b", re.MULTILINE)
_BARE_TEST = compile_lazily(r"^(?:async[ \t]+)?def[ \t]+test\w*[ \t]*\(", re.MULTILINE)
_TEST_NAME = compile_lazily(r"test_.*\.py|.*_test\.py")


def list_test_files(paths: tuple[str, ...]) -> list[str]:
    """Return the Python files among the tests of a repository, as many as are worth a look."""
    found = [path for path in paths if path.endswith(".py") and is_test(path)]
    return found[:MAX_TEST_FILES]


def find_pytest_file(project: RepositoryFiles) -> str:
    """Return a test file that only pytest can run; empty if there is none.

    Such a file imports pytest, or defines its tests as functions, which unittest does not find.
    """
    for path in list_test_files(project.paths):
        text = project.get_text(path)
        is_test_file = _TEST_NAME.fullmatch(PurePosixPath(path).name) is not None
        if _IMPORT.search(text) or (is_test_file and _BARE_TEST.search(text)):
            return path
    return ""
