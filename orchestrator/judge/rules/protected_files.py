"""The ratchet of files: what tests rest on changes only where the plan grants it, visibly."""

from collections.abc import Callable, Collection, Iterator, Sequence

from orchestrator.domain.judging.verdict import Finding, RuleId
from orchestrator.judge.files.changed_file import ChangedFile, PathProtection, find_path_protection
from orchestrator.judge.files.config_sections import find_altered_sections, has_protected_sections
from orchestrator.judge.gate_files.finder import fold_path
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.rules.suppressions import get_suppression_kinds
from orchestrator.judge.source.additions_only import describe_non_additive_change

_ADVICE = {
    PathProtection.TESTS: (
        "put new tests beside the old ones, or into a file of their own, and leave the old ones alone"
    ),
    PathProtection.CONFIGURATION: "leave everything of that kind as it is on the base",
    PathProtection.STARTER: "do without it",
    PathProtection.SHADOW: "name it otherwise",
    PathProtection.GATE: "leave it as it is on the base",
}


def needs_content(path: str) -> bool:
    """Return True if a rule needs the contents of a changed file, and not only its path."""
    return path.endswith((".py", ".pyi")) or has_protected_sections(path) or bool(get_suppression_kinds(path))


def list_held_back_tests(files: Sequence[ChangedFile], is_granted: Callable[[str], bool]) -> tuple[str, ...]:
    """Return the changed tests whose base versions the candidate's code has to pass as well; new ones as absent."""
    paths = [file.path for file in files if not is_granted(file.path)]
    return tuple(path for path in paths if find_path_protection(path) == PathProtection.TESTS)


def check_protected_files(facts: ChangeFacts) -> Iterator[Finding]:
    """Yield a blocking finding for each protected file that was changed without a grant; it says what to do."""
    for file in facts.files:
        if facts.is_granted(file.path):
            continue
        if problem := _describe_problem(file, facts.gate_files):
            yield Finding(rule=RuleId.PROTECTED, text=problem, path=file.path, is_blocking=True)


def _describe_problem(file: ChangedFile, gate_files: Collection[str]) -> str:
    if needs_content(file.path) and file.is_unread:
        return f"{file.path} is one of too many changed files to look into: do less at once"
    sections = find_altered_sections(file.path, file.before, file.after)
    if sections is not None:
        if sections:
            return f"{file.path}: {', '.join(sections)} may change only where the plan grants it: leave it as it was"
        return ""
    protection = _find_protection(file, gate_files)
    if protection is None or (protection == PathProtection.TESTS and _may_change_test(file)):
        return ""
    change = f"{file.path} is {protection} and was {_describe_change(file)}, which the plan did not grant"
    return f"{change}: {_advise(file, protection)}"


def _find_protection(file: ChangedFile, gate_files: Collection[str]) -> PathProtection | None:
    protection = find_path_protection(file.path)
    if protection == PathProtection.SHADOW and not file.is_new:
        protection = None  # the base's own module of that name, to which its tests are used
    if protection is None and fold_path(file.path) in gate_files:
        return PathProtection.GATE
    return protection


def _may_change_test(file: ChangedFile) -> bool:
    if file.is_new:
        return True
    return _is_comparable(file) and not describe_non_additive_change(file.before or b"", file.after or b"")


def _is_comparable(file: ChangedFile) -> bool:
    is_same_kind = file.old_mode == file.new_mode
    return file.is_python and is_same_kind and file.before is not None and file.after is not None


def _advise(file: ChangedFile, protection: PathProtection) -> str:
    if protection == PathProtection.TESTS and _is_comparable(file):
        return f"{describe_non_additive_change(file.before or b'', file.after or b'')}; {_ADVICE[protection]}"
    if protection == PathProtection.TESTS and not file.is_deleted:
        return "put new tests into a file of their own"
    return _ADVICE[protection]


def _describe_change(file: ChangedFile) -> str:
    if file.is_new:
        return "added"
    if file.is_deleted:
        return "removed"
    return "changed"
