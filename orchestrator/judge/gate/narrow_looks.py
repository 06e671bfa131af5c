"""Running only some tests of a check once more: pytest is told by its own variable, whatever command starts it.

Another runner ignores the variable and runs all of its tests. That is a whole look, and counts as one.
"""

import re
import shlex
from collections.abc import Sequence

from orchestrator.domain.judging.check import NARROW_CHECK, CheckSpec, ReportFormat
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.judge.gate.difference import NarrowCheckBuilder
from orchestrator.judge.reports.parsed_report import is_test_id

_NAME = compile_lazily(r"[A-Za-z_]\w*")
_REPEATED_ID = compile_lazily(r" #\d+\Z")
_RESERVED = frozenset({"and", "or", "not", "none", "true", "false"})
_PYTEST_FORMATS = frozenset({ReportFormat.AUTO, ReportFormat.JUNIT})


def build_narrow_look(spec: CheckSpec, tests: Sequence[str], narrow: NarrowCheckBuilder | None) -> CheckSpec | None:
    """Return the check that runs these tests; None if they cannot be named to its runner.

    Args:
        spec: the whole check.
        tests: as its report names them.
        narrow: another way to narrow it, which is tried first.
    """
    if not all(map(is_test_id, tests)):
        return None
    narrowed = None
    if narrow is not None:
        narrowed = narrow(spec, tests)
    if narrowed is None:
        narrowed = select_by_keyword(spec, tests)
    if narrowed is None:
        return None
    return narrowed.model_copy(update={"id": NARROW_CHECK})


def select_by_keyword(spec: CheckSpec, tests: Sequence[str]) -> CheckSpec | None:
    """Return the check with `-k` for pytest; it may select more tests than were asked for, never fewer."""
    if spec.report not in _PYTEST_FORMATS:
        return None
    words = []
    for test in tests:
        place, separator, name = _REPEATED_ID.sub("", test).partition("[")[0].rpartition("::")
        owner = place.rpartition(".")[2]
        if not separator or not _is_keyword(owner) or not _is_keyword(name):
            return None
        words.append(f"({owner} and {name})")
    expression = shlex.quote(" or ".join(dict.fromkeys(words)))
    options = shlex.quote(f" -k {expression}")
    return spec.model_copy(update={"run": f'export PYTEST_ADDOPTS="${{PYTEST_ADDOPTS:-}}"{options}\n{spec.run}'})


def _is_keyword(name: str) -> bool:
    return bool(re.fullmatch(_NAME.pattern, name)) and name.lower() not in _RESERVED
