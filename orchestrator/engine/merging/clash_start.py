"""Make the files with which an attempt goes on that clashed: its own work, merged onto what landed meanwhile."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orchestrator.domain.event.landing import RefSet, RefSetting
from orchestrator.domain.event.work import CandidateTaken
from orchestrator.domain.ids import CommitId, TaskId, parse_unit_id, parse_unit_task
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import Clash
from orchestrator.engine.context import RunContext
from orchestrator.engine.merging.clash_steps import find_ejected_candidate, list_clashes
from orchestrator.ports.effect import record_effect
from worktrees.object_store.conflict_merge import write_merge
from worktrees.object_store.merge import commit_tree
from worktrees.ref_store.refs import set_ref
from worktrees.safety.path_rules import escape_path

_MOST_TASKS = 6
"""Of more tasks nobody reads what each wanted."""


@dataclass(frozen=True)
class ClashStart:
    """The start of an attempt: on `base`, the tip of the branch, with the files of the commit `start`."""

    base: CommitId
    start: CommitId
    clash: Clash


async def prepare_clash_start(context: RunContext, task: TaskState) -> ClashStart:
    """Merge the task's ejected work onto the tip of the branch, and keep the result under a ref of the run's own.

    The same two commits always give the same start.

    Raises:
        PersonNeeded: somebody moved the branch away from what has landed, or made it red.
    """
    candidate = find_ejected_candidate(task)
    if candidate is None:
        raise ValueError(f"task {task.spec.id} has no work that the queue ejected")
    while True:
        base = await context.read_start_commit()
        made = await _merge_candidate(context, task, candidate, base)
        if (await context.read_branch_tip() or context.state.run.base) == base:
            return made


async def _merge_candidate(
    context: RunContext, task: TaskState, candidate: CandidateTaken, base: CommitId
) -> ClashStart:
    git, number = context.repository.git, len(task.attempts) + 1
    since = task.attempts[candidate.number - 1].base
    merged = await write_merge(git, since, base, candidate.commit, context.config.merge.union)
    message = f"{task.spec.id}: what attempt {number} begins with\n\nOrchestrate-Run: {context.state.run.run}\n"
    parents = [base, candidate.commit]
    start = CommitId(await commit_tree(git, merged.tree, parents, message, context.commit_date))
    await _keep_start(context, task.spec.id, number, start)
    conflict = tuple(map(escape_path, merged.conflicts))
    clash = Clash(
        base=since,
        candidate=candidate.commit,
        conflict=conflict,
        landed=find_landed_tasks(context.state, task, since, conflict or candidate.paths),
        number=max(1, len(list_clashes(task))),
    )
    return ClashStart(base, start, clash)


async def _keep_start(context: RunContext, task: TaskId, number: int, start: CommitId) -> None:
    ref = context.refs.build_start_ref(task, number)
    setting = RefSetting(key=context.journal.build_next_key(f"ref/{ref}"), ref=ref, object=start)
    async with record_effect(context.journal, setting) as happening:
        await set_ref(context.repository.git, ref, start)
        happening.done = RefSet(key=setting.key)


def find_landed_tasks(state: RunState, task: TaskState, since: CommitId, paths: Sequence[str]) -> tuple[TaskId, ...]:
    """Return the tasks that landed after the commit `since` and changed one of `paths`, and partners the queue named.

    Where nobody changed one of the paths, the tasks that landed last stand for them.
    """
    wanted = frozenset(paths)
    landed: list[TaskId] = []
    found: list[TaskId] = []
    for name, candidate in _iterate_landed(state, since):
        landed.append(name)
        if wanted.intersection(candidate.paths):
            found.append(name)
    if task.ejection is not None:
        found += map(parse_unit_task, task.ejection.partners)
    return tuple(dict.fromkeys((found or landed)[-_MOST_TASKS:]))


def _iterate_landed(state: RunState, since: CommitId) -> Iterator[tuple[TaskId, CandidateTaken]]:
    """Yield what landed after a commit of the branch, with its tasks, in order; all of it if it is no such commit."""
    begin = 0
    for place, landing in enumerate(state.landings):
        if landing.new == since:
            begin = place + 1
    for landing in state.landings[begin:]:
        for unit in landing.units:
            attempt = parse_unit_id(unit)
            if attempt is not None and attempt.task in state.tasks:
                yield from _pick_candidates(state.tasks[attempt.task], attempt.number)


def _pick_candidates(task: TaskState, number: int) -> Iterator[tuple[TaskId, CandidateTaken]]:
    for candidate in task.candidates:
        if candidate.number == number:
            yield task.spec.id, candidate
