"""Choose how a task goes on whose candidate the queue ejected, as pure functions of its state."""

from collections.abc import Iterator

from orchestrator.domain.event.landing import UnitEjected
from orchestrator.domain.event.work import CandidateTaken
from orchestrator.domain.ids import UnitId, build_unit_id
from orchestrator.domain.judging.verdict import VerdictKind
from orchestrator.domain.run.state import TaskState
from orchestrator.domain.run.task import Attempt, AttemptMode, EndCause, Exit

MAX_REBASES = 2
"""So often in a row a worker brings its work together with what landed; then the arbiter does."""
_CLASHES = frozenset({EndCause.CONFLICT, EndCause.RED_TOGETHER})


def classify_ejection(ejection: UnitEjected) -> EndCause:
    """Return the cause of an ejection."""
    if ejection.conflict:
        return EndCause.CONFLICT
    if ejection.difference.is_unsettled:
        return EndCause.UNSETTLED_TESTS
    if ejection.is_vetoed:
        return EndCause.REFUSED_BY_HOOK
    return EndCause.RED_TOGETHER


def needs_whole_judging(task: TaskState) -> bool:
    """Return True if the queue found work red of which only selected tests had been looked at."""
    if task.ejection is None or task.verdict is None or not task.verdict.verdict.is_provisional:
        return False
    return classify_ejection(task.ejection) == EndCause.RED_TOGETHER


def _list_refused_units(task: TaskState) -> set[UnitId]:
    """Return the units that are red by themselves, as their judge found after the queue had ejected them."""
    latest = {build_unit_id(task.spec.id, given.number): given.verdict.kind for given in task.verdicts}
    return {unit for unit, kind in latest.items() if kind != VerdictKind.MERGE}


def list_clashes(task: TaskState) -> tuple[UnitEjected, ...]:
    """Return the ejections because of what had landed, since a person last had the task tried again."""
    units = {_build_unit(attempt) for attempt in task.attempts[task.earlier_attempts :]} - _list_refused_units(task)
    found = []
    for ejection in task.ejections:
        if ejection.unit in units and classify_ejection(ejection) in _CLASHES:
            found.append(ejection)
    return tuple(found)


def find_ejected_candidate(task: TaskState) -> CandidateTaken | None:
    """Return the task's own work of the latest attempt that the queue ejected."""
    ejected = {ejection.unit for ejection in task.ejections}
    for candidate in reversed(task.candidates):
        unit = build_unit_id(task.spec.id, candidate.number)
        if unit in ejected and not candidate.verifier_tests:
            return candidate
    return None


def list_counted_exits(task: TaskState) -> tuple[int, list[Exit]]:
    """Return how many attempts use up the task's attempts, and how their sessions ended.

    Work that a person sent back uses up none, nor does work that clashed with what had landed, nor the arbiter's.
    """
    clashed = {ejection.unit for ejection in list_clashes(task)}
    counted = set()
    for attempt in task.attempts[task.earlier_attempts :]:
        if attempt.mode not in {"sent-back", "arbitrate"} and _build_unit(attempt) not in clashed:
            counted.add(attempt.number)
    return len(counted), [end.exit for end in task.ends if end.number in counted]


def has_attempts_left(task: TaskState, max_attempts: int) -> bool:
    """Return True if the task may be tried once more.

    Attempts that a model or its provider ended, and those that ran out of room, do not count against the others, but
    there may be no more of either.
    """
    _, exits = list_counted_exits(task)
    failed = sum(ended.is_infrastructure for ended in exits)
    short = sum(ended.is_out_of_room for ended in exits)
    return max(failed, short, count_tries(task)) < max_attempts


def count_tries(task: TaskState) -> int:
    """Return how many attempts had their say: neither infrastructure nor a lack of room ended them."""
    tries, exits = list_counted_exits(task)
    return tries - sum(ended.is_infrastructure or ended.is_out_of_room for ended in exits)


def choose_clash_mode(task: TaskState, max_attempts: int) -> AttemptMode | None:
    """Return the mode of an attempt that goes on with work which the queue ejected; None if the next one is no such.

    `rebase` is for a worker, `arbitrate` for the arbiter, who comes last and once.
    """
    latest = task.attempt
    if latest is None or find_ejected_candidate(task) is None:
        return None
    if task.retry is not None:
        return "rebase" if task.ejection is not None or latest.clash is not None else None
    if latest.mode == "arbitrate":
        return "arbitrate" if _is_arbiter_unheard(task, max_attempts) else None
    clashes = list_clashes(task)
    if task.ejection is not None:
        return _choose_after_ejection(task, len(clashes), max_attempts)
    if not clashes or not _is_refused(task):
        return None
    if not has_attempts_left(task, max_attempts):
        return "arbitrate"
    return "rebase" if _has_lost_its_thread(task, latest) else None


def _choose_after_ejection(task: TaskState, clashes: int, max_attempts: int) -> AttemptMode | None:
    if task.ejection is not None and classify_ejection(task.ejection) not in _CLASHES:
        return "rebase" if has_attempts_left(task, max_attempts) else None
    return "arbitrate" if clashes > MAX_REBASES else "rebase"


def is_clash_lost(task: TaskState, max_attempts: int) -> bool:
    """Return True if the arbiter's result did not land either: nothing is left to be tried."""
    latest = task.attempt
    return latest is not None and latest.mode == "arbitrate" and not _is_arbiter_unheard(task, max_attempts)


def _is_arbiter_unheard(task: TaskState, max_attempts: int) -> bool:
    """Return True if a model or its provider ended the arbiter's session, and it may be asked again."""
    exits = list(_iterate_arbiter_exits(task))
    if not exits or not exits[-1].is_infrastructure:
        return False
    return len(exits) < max_attempts


def _iterate_arbiter_exits(task: TaskState) -> Iterator[Exit]:
    numbers = {one.number for one in task.attempts[task.earlier_attempts :] if one.mode == "arbitrate"}
    for end in task.ends:
        if end.number in numbers:
            yield end.exit


def _is_refused(task: TaskState) -> bool:
    return task.verdict is not None and task.verdict.verdict.kind != VerdictKind.MERGE


def _has_lost_its_thread(task: TaskState, latest: Attempt) -> bool:
    """Return True if a rebased attempt has to be begun again by somebody else, and no reviewer wants another way."""
    if latest.clash is None or task.verdict is None or task.verdict.verdict.kind != VerdictKind.RESTART:
        return False
    if task.own_candidate is not None and task.ends[-1].exit.is_out_of_room:
        return False  # it goes on with its files
    return task.verdict.verdict.cause != EndCause.REFUSED_BY_REVIEW


def _build_unit(attempt: Attempt) -> UnitId:
    return build_unit_id(attempt.task, attempt.number)
