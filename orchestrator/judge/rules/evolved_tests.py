"""The ratchet of tests: those of the base may grow, move and get other names; what else becomes of them needs a grant.

That a test is still what it was is found in its syntax here; that it still passes as the base wrote it is shown by a
run with the base's own files (`orchestrator.engine.judging.candidate_tests`).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from orchestrator.domain.judging.verdict import Finding, RuleId
from orchestrator.domain.run.grant import Grant, GrantIntent
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.listing import join_limited
from orchestrator.judge.evolution.fates import TestFate
from orchestrator.judge.evolution.test_functions import EvolvingTest
from orchestrator.judge.files.changed_file import ChangedFile, is_test_path
from orchestrator.judge.rules.change_facts import ChangeFacts, build_flag
from orchestrator.judge.source.additions_only import describe_non_additive_change, describe_surrounding_change

_MAX_SYMBOLS = 5
_IMPORT = compile_lazily(r"\s*(?:import|from|use|using|#include|(?:const|let|var)\b.*\brequire)\b")
_WORD = compile_lazily(r"[\w$@./-]+")
_LINE_END = ",; \t\r"


class ProtectionProblem(NamedTuple):
    """A fault of a file's change, in words, and the grant that would help; None where none would."""

    text: str
    grant: Grant | None


def find_test_file_problem(file: ChangedFile, facts: ChangeFacts) -> ProtectionProblem | None:
    """Return what of a base's test file became another one without a grant; None if nothing did. Blocks."""
    if file.is_new:
        return None
    if not file.is_python or file.old_mode != (file.new_mode or file.old_mode):
        return _find_text_problem(file, facts)
    if file.is_deleted:
        has_functions = any(fate.old.key[0] == file.path for fate in facts.evolution.fates)
        return _find_fate_problem(file, facts) if has_functions else _find_text_problem(file, facts)
    before, after = file.before or b"", file.after or b""
    additive = describe_non_additive_change(before, after)
    if not additive:
        return None
    if describe_surrounding_change(before, after):
        return ProtectionProblem(additive, _build_grant(file, GrantIntent.REWRITE))
    problem = _find_fate_problem(file, facts)
    if problem is None:
        return None
    return ProtectionProblem(additive, problem.grant)


def _find_fate_problem(file: ChangedFile, facts: ChangeFacts) -> ProtectionProblem | None:
    fates = [fate for fate in facts.evolution.fates if fate.old.key[0] == file.path]
    refused = [fate for fate in fates if not facts.evolution.allows_fate(fate)]
    if not refused:
        return None
    intents = tuple(sorted({fate.needs for fate in refused if fate.needs}))
    paths = tuple(fate.symbol for fate in refused)
    if len(paths) > _MAX_SYMBOLS:
        paths = (file.path,)
    problems = join_limited([fate.problem for fate in refused], _MAX_SYMBOLS, "; ")
    return ProtectionProblem(problems, Grant(paths=paths, may=intents))


def _find_text_problem(file: ChangedFile, facts: ChangeFacts) -> ProtectionProblem | None:
    """Return what is wrong with a test file in another language, or with data of tests: it may grow, and move."""
    if file.is_deleted:
        moved = any(one.is_new and one.after == file.before and is_test_path(one.path) for one in facts.files)
        return None if moved else ProtectionProblem("", _build_grant(file, GrantIntent.REMOVE))
    if file.old_mode == file.new_mode and _has_grown(file.before, file.after):
        return None
    return ProtectionProblem("", _build_grant(file, GrantIntent.REWRITE))


def _has_grown(before: bytes | None, after: bytes | None) -> bool:
    """Return True if every line of a text stands in it still, in the same order; imports may name more."""
    if before is None or after is None or b"\0" in before + after:
        return False
    rest = iter(after.decode("utf-8", "replace").splitlines())
    return all(any(_holds_line(new, old) for new in rest) for old in before.decode("utf-8", "replace").splitlines())


def _holds_line(new: str, old: str) -> bool:
    if new.rstrip(_LINE_END) == old.rstrip(_LINE_END):
        return True
    if not (_IMPORT.match(old) and _IMPORT.match(new)):
        return False
    words = iter(_WORD.findall(new))
    return all(word in words for word in _WORD.findall(old))


def _build_grant(file: ChangedFile, intent: GrantIntent) -> Grant:
    return Grant(paths=(file.path,), may=(intent,))


def check_evolved_tests(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a flag for each test of the base that was changed beyond additions, went with its code, or may be skipped.

    What files do that a grant lets change as a whole is told by the rule on weakened assertions.
    """
    for fate in facts.evolution.fates:
        path, _ = fate.old.key
        if not fate.old.is_collected or fate.is_same or facts.is_granted(path, GrantIntent.REWRITE):
            continue
        if text := _describe_fate(fate):
            line = fate.successors[0].function.node.lineno if fate.successors else None
            place = fate.successors[0].function.path if fate.successors else path
            yield build_flag(RuleId.EVOLVED, f"{place}{f':{line}' * bool(line)} {text}", place, line)


def _describe_fate(fate: TestFate) -> str:
    if fate.removed_name:
        return f"{fate.old.last_name} went with {fate.removed_name}, which is gone from the code"
    if fate.needs is not None:
        return f"{fate.problem}, as the plan grants"
    if fate.successors and not _has_only_grown(fate.old, fate.successors):
        return f"{fate.old.last_name} was changed beyond additions; it asserts all that it did"
    return ""


def _has_only_grown(old: EvolvingTest, successors: Sequence[EvolvingTest]) -> bool:
    """Return True if every case still does all that it did, in the same order, under the same decorators."""
    for case in old.cases:
        if not any(_contains(new.body, case.body) for one in successors for new in one.cases):
            return False
    return all(one.decorators == old.decorators for one in successors)


def _contains(new: Sequence[str], old: Sequence[str]) -> bool:
    rest = iter(new)
    return all(statement in rest for statement in old)
