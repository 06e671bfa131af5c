"""The ratchet of files: what tests rest on changes only where the plan grants it, visibly."""

from collections.abc import Callable, Collection, Iterator, Sequence

from orchestrator.domain.judging.verdict import Finding
from orchestrator.domain.paths.globs import matches_glob
from orchestrator.judge.files.changed_file import ChangedFile
from orchestrator.judge.files.config_sections import find_altered_sections, has_protected_sections
from orchestrator.judge.files.path_protection import PathProtection, find_path_protection
from orchestrator.judge.gate_files.finder import fold_path
from orchestrator.judge.source.additions_only import describe_non_additive_change
from orchestrator.judge.source.suppression_patterns import get_suppression_kinds

_ADVICE = {
    PathProtection.TESTS: "put new tests beside the old ones, or into a file of their own, and leave the old ones alone",
    PathProtection.CONFIGURATION: "leave everything of that kind as it is on the base",
    PathProtection.STARTER: "do without it",
    PathProtection.SHADOW: "name it otherwise",
    PathProtection.GATE: "leave it as it is on the base",
}


def build_grant_matcher(grants: Sequence[str]) -> Callable[[str], bool]:
    """Whether a path is one of those that a task was granted."""
    return lambda path: any(matches_glob(glob, path) for glob in grants)


def needs_content(path: str) -> bool:
    """Whether a rule needs the contents of a changed file, and not only its path."""
    return path.endswith((".py", ".pyi")) or has_protected_sections(path) or bool(get_suppression_kinds(path))


def check_protected_files(
    files: Sequence[ChangedFile], is_granted: Callable[[str], bool], gate_files: Collection[str] = ()
) -> Iterator[Finding]:
    """A blocking finding for each protected file that was changed without a grant; it names the file and the mend.

    `gate_files` are the folded paths of what the gate's commands name.
    """
    for file in files:
        if is_granted(file.path):
            continue
        if problem := _problem(file, gate_files):
            yield Finding(rule="protected", text=problem, is_blocking=True)


def _problem(file: ChangedFile, gate_files: Collection[str]) -> str:
    if needs_content(file.path) and file.is_unread:
        return f"{file.path} is one of too many changed files to look into: do less at once"
    sections = find_altered_sections(file.path, file.before, file.after)
    if sections is not None:
        named = ", ".join(sections)
        if sections:
            return f"{file.path}: {named} may change only where the plan grants it: leave it as it was"
        return ""
    place = find_path_protection(file.path)
    is_free = place is None or (place == PathProtection.SHADOW and not file.is_new)
    if is_free and fold_path(file.path) in gate_files:
        place = PathProtection.GATE
    if place is None or (place == PathProtection.TESTS and (file.is_new or _has_only_gained(file))):
        return ""
    if place == PathProtection.SHADOW and not file.is_new:
        return ""  # the base's own module of that name, to which its tests are used
    return f"{file.path} is {place} and was {_verb(file)}, which the plan did not grant: {_why(file, place)}"


def _has_only_gained(file: ChangedFile) -> bool:
    return _is_comparable(file) and not describe_non_additive_change(file.before or b"", file.after or b"")


def _is_comparable(file: ChangedFile) -> bool:
    is_same_kind = file.old_mode == file.new_mode
    return file.is_python and is_same_kind and file.before is not None and file.after is not None


def _why(file: ChangedFile, place: PathProtection) -> str:
    if place == PathProtection.TESTS and _is_comparable(file):
        return f"{describe_non_additive_change(file.before or b'', file.after or b'')}; {_ADVICE[place]}"
    if place == PathProtection.TESTS and not file.is_deleted:
        return "put new tests into a file of their own"
    return _ADVICE[place]


def _verb(file: ChangedFile) -> str:
    if file.is_new:
        return "added"
    if file.is_deleted:
        return "removed"
    return "changed"


def list_held_back_tests(files: Sequence[ChangedFile], is_granted: Callable[[str], bool]) -> tuple[str, ...]:
    """The changed tests whose base versions the candidate's code has to stand as well; new ones count as absent."""
    return tuple(
        file.path
        for file in files
        if find_path_protection(file.path) == PathProtection.TESTS and not is_granted(file.path)
    )
