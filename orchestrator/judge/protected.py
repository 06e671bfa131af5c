"""The ratchet of files: what tests rest on changes only where the plan grants it, visibly."""

from collections.abc import Callable, Collection, Iterator, Sequence

from orchestrator.domain.globs import matches
from orchestrator.domain.verdict import Finding
from orchestrator.judge.additive import lost_or_altered
from orchestrator.judge.changed import ChangedFile
from orchestrator.judge.gate_files import fold_path
from orchestrator.judge.places import Place, place_of
from orchestrator.judge.sections import altered_sections, has_sections
from orchestrator.judge.silencers import kinds_for

_ADVICE = {
    Place.TESTS: "put new tests beside the old ones, or into a file of their own, and leave the old ones alone",
    Place.CONFIGURATION: "leave everything of that kind as it is on the base",
    Place.STARTER: "do without it",
    Place.SHADOW: "name it otherwise",
    Place.GATE: "leave it as it is on the base",
}


def granter(grants: Sequence[str]) -> Callable[[str], bool]:
    """Whether a path is one of those that a task was granted."""
    return lambda path: any(matches(glob, path) for glob in grants)


def is_looked_into(path: str) -> bool:
    """Whether a rule needs the contents of a changed file, and not only its path."""
    return path.endswith((".py", ".pyi")) or has_sections(path) or bool(kinds_for(path))


def protected_findings(
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
    if is_looked_into(file.path) and file.is_unread:
        return f"{file.path} is one of too many changed files to look into: do less at once"
    sections = altered_sections(file.path, file.before, file.after)
    if sections is not None:
        named = ", ".join(sections)
        return f"{file.path}: {named} may change only where the plan grants it: leave it as it was" if sections else ""
    place = place_of(file.path)
    is_free = place is None or (place == Place.SHADOW and not file.is_new)
    if is_free and fold_path(file.path) in gate_files:
        place = Place.GATE
    if place is None or (place == Place.TESTS and (file.is_new or _has_only_gained(file))):
        return ""
    if place == Place.SHADOW and not file.is_new:
        return ""  # the base's own module of that name, to which its tests are used
    return f"{file.path} is {place} and was {_verb(file)}, which the plan did not grant: {_why(file, place)}"


def _has_only_gained(file: ChangedFile) -> bool:
    return _is_comparable(file) and not lost_or_altered(file.before or b"", file.after or b"")


def _is_comparable(file: ChangedFile) -> bool:
    is_same_kind = file.old_mode == file.new_mode
    return file.is_python and is_same_kind and file.before is not None and file.after is not None


def _why(file: ChangedFile, place: Place) -> str:
    if place == Place.TESTS and _is_comparable(file):
        return f"{lost_or_altered(file.before or b'', file.after or b'')}; {_ADVICE[place]}"
    return "put new tests into a file of their own" if place == Place.TESTS and not file.is_gone else _ADVICE[place]


def _verb(file: ChangedFile) -> str:
    return "added" if file.is_new else "removed" if file.is_gone else "changed"


def held_back(files: Sequence[ChangedFile], is_granted: Callable[[str], bool]) -> tuple[str, ...]:
    """The changed tests whose base versions the candidate's code has to stand as well; new ones count as absent."""
    return tuple(file.path for file in files if place_of(file.path) == Place.TESTS and not is_granted(file.path))
