"""Check what a plan claims against the decisions and files that others in the run own.

A claim that cannot hold is refused in words. Two tasks of different slices that may change the same files get an order.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from orchestrator.domain.ids import ROOT_TASK, TaskId, build_child_task_id, is_at_or_below
from orchestrator.domain.ownership.decisions import Contradiction, Decision, list_contradictions
from orchestrator.domain.paths.globs import can_overlap, is_covered
from orchestrator.domain.run.plan import Plan, find_cycle
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import TaskDraft


def check_claims(plan: Plan, run: RunState, planner: TaskId) -> tuple[str, ...]:
    """Return what a plan may not claim, in words its planner can act on; empty when it takes nothing from others."""
    return (
        *_check_bounds(plan, run, planner),
        *_check_questions(plan, run, planner),
        *_check_decisions(plan, run, planner),
        *_check_contradictions(plan, run, planner),
        *_check_orders(plan, run, planner),
    )


def find_orders(plan: Plan, run: RunState, planner: TaskId) -> Mapping[str, tuple[TaskId, ...]]:
    """Return, by the key of a draft, the tasks of other slices under way that may change the same files."""
    orders: dict[str, tuple[TaskId, ...]] = {draft.key: () for draft in plan.tasks}
    if not any(draft.paths for draft in plan.tasks):
        return orders
    named = (run.tasks[name] for name in run.task_index.list_owners())
    others = [task for task in named if _is_foreign(task, planner)]
    for draft in plan.tasks:
        orders[draft.key] = tuple(task.spec.id for task in others if _may_meet(draft, task))
    return orders


def list_own_contradictions(run: RunState, planner: TaskId) -> list[Contradiction]:
    """Return the contradictions that a planner has to settle: it is the lowest one above all who decided."""
    return [one for one in list_contradictions(run.register) if one.planner == planner]


def list_decisions_for(run: RunState, task: TaskId, paths: Sequence[str]) -> list[Decision]:
    """Return the decisions that a task has to go by: of planners above it, and of tasks that its paths touch."""
    lineage, found = set(run.iterate_lineage(task)), []
    for decision in run.register:
        owner = run.tasks.get(decision.owner)
        if not decision.is_in_force or owner is None:
            continue
        if decision.owner in lineage or _do_paths_meet(paths, owner.spec.paths):
            found.append(decision)
    return found


def _is_foreign(task: TaskState, planner: TaskId) -> bool:
    """Return True if a task of a worker is under way in a slice that is neither the planner's nor above it."""
    is_own = task.spec.parent == planner or is_at_or_below(task.spec.id, planner)
    return task.spec.kind == "leaf" and not task.status.is_terminal and not is_own


def _may_meet(draft: TaskDraft, task: TaskState) -> bool:
    return _do_paths_meet(draft.paths, task.spec.paths)


def _do_paths_meet(left: Sequence[str], right: Sequence[str]) -> bool:
    return any(can_overlap(*pair) for pair in product(left, right))


def _check_bounds(plan: Plan, run: RunState, planner: TaskId) -> Iterator[str]:
    """Yield paths of tasks outside of what their planner's own task may change."""
    slice_task = run.tasks.get(planner)
    bounds = slice_task.spec.paths if slice_task else ()
    if not bounds:
        return
    for draft in plan.tasks:
        outside = [glob for glob in draft.paths if not any(is_covered(glob, bound) for bound in bounds)]
        if outside:
            yield (
                f"task {draft.key!r} may change {', '.join(outside)}, and your slice is bounded to "
                f"{', '.join(bounds)}: keep within it, and name what is needed outside under `remaining` at the end"
            )


def _check_questions(plan: Plan, run: RunState, planner: TaskId) -> Iterator[str]:
    """Yield design questions that a task of another slice decides."""
    deciding = [draft for draft in plan.tasks if draft.decisions]
    others = [task for task in run.tasks.values() if task.spec.decisions] if deciding else []
    for draft in deciding:
        for other in others:
            if is_at_or_below(other.spec.id, planner) or planner == ROOT_TASK:
                continue
            is_open = not other.status.is_terminal or other.status.is_reached
            for question in sorted(set(draft.decisions) & set(other.spec.decisions)):
                if is_open and not is_at_or_below(planner, other.spec.id):
                    yield (
                        f"task {draft.key!r} owns the decision {question!r}, which {other.spec.id} "
                        f"({other.status.word}) owns: go by what that decides"
                    )


def _check_decisions(plan: Plan, run: RunState, planner: TaskId) -> Iterator[str]:
    """Yield decisions that others took otherwise, who do not stand below the planner."""
    for draft in plan.decisions:
        for decision in run.register:
            is_other = decision.is_in_force and decision.id == draft.id and decision.text != draft.text
            if is_other and not is_at_or_below(decision.owner, planner):
                yield (
                    f"{decision.owner} decided {draft.id!r} already: {decision.text!r}. Keep to it, or leave it out "
                    "and say under `concerns` at the end why it cannot hold"
                )


def _check_contradictions(plan: Plan, run: RunState, planner: TaskId) -> Iterator[str]:
    """Yield contradictions among those below that the plan leaves open."""
    decided = {draft.id for draft in plan.decisions}
    reconciled = {name for draft in plan.tasks for name in draft.reconciles}
    for contradiction in list_own_contradictions(run, planner):
        if contradiction.id not in decided or contradiction.id not in reconciled:
            yield describe_contradiction(contradiction)


def describe_contradiction(contradiction: Contradiction) -> str:
    """Return who decided what, and what its planner has to do about it."""
    said = "; ".join(f"{decision.owner}: {decision.text!r}" for decision in contradiction.decisions)
    return (
        f"{contradiction.id!r} was decided in {len(contradiction.decisions)} ways ({said}): decide it in `decisions` "
        "under this id, and plan a task that names it in `reconciles` and brings the repository in line"
    )


def _check_orders(plan: Plan, run: RunState, planner: TaskId) -> Iterator[str]:
    """Yield orders that would make tasks wait for each other for ever."""
    orders = find_orders(plan, run, planner)
    if not any(orders.values()):
        return
    edges: dict[str, Sequence[str]] = {}
    for task in run.tasks.values():
        edges[task.spec.id] = (*task.spec.depends_on, *task.spec.after)
    replaced = {build_child_task_id(planner, draft.replaces): draft for draft in plan.tasks if draft.replaces}
    for name, needed in edges.items():
        edges[name] = tuple(_follow_replacement(planner, replaced, TaskId(other)) for other in needed)
    for draft in plan.tasks:
        own = (build_child_task_id(planner, key) for key in draft.depends_on)
        edges[build_child_task_id(planner, draft.key)] = (*own, *orders[draft.key])
    if cycle := find_cycle(edges):
        yield (
            f"tasks of different slices that may change the same files would wait for each other: {' → '.join(cycle)}: "
            "divide the files"
        )


def _follow_replacement(planner: TaskId, replaced: Mapping[TaskId, TaskDraft], task: TaskId) -> TaskId:
    if task in replaced:
        return build_child_task_id(planner, replaced[task].key)
    return task
