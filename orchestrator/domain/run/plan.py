"""Plans and the rules they must obey. A refused plan goes back to its planner as text."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from graphlib import CycleError, TopologicalSorter
from itertools import chain, combinations, product
from operator import attrgetter
from typing import Self

from pydantic import Field

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import TASK_KEY_PATTERN
from orchestrator.domain.ownership.decisions import DecisionDraft
from orchestrator.domain.paths.globs import can_overlap, is_glob
from orchestrator.domain.run.grant import find_grant_problems
from orchestrator.domain.run.task import TaskDraft, TaskStatus
from orchestrator.domain.text.money import MAX_DOLLARS, format_exact_dollars


class PlanLimits(FrozenModel):
    """The bounds of a plan at its place of the tree: `depth` is the planner's own, counted from 0 at the root.

    `left_usd` and `left_tokens` are what the planner's slice may still spend, None for no bound; `has_prices` is false
    when a price is unknown, so that dollars would bound nothing.
    """

    depth: int
    max_depth: int = 3
    max_children: int = 12
    variants: tuple[str, ...] = ()
    left_usd: Decimal | None = None
    left_tokens: int | None = None
    has_prices: bool = True
    max_best_of: int = 3


class Withdrawal(FrozenModel):
    """A task that a planner takes back before it has begun."""

    key: str = Field(description="The task's key.")
    reason: str = Field(description="Why it is not needed any more.")


class KeepPlan(FrozenModel):
    """A planner's word that its plan stays as it is while its tasks are at work."""

    reason: str = Field("", description="Why nothing has to change, in one sentence.")


class Plan(FrozenModel):
    """A planner's submission: drafts of the tasks below it, and why it cut the work this way.

    `cancel` takes back tasks of earlier plans that have not begun.
    """

    rationale: str = Field(description="Why the work is cut this way, and what you decided for all tasks.")
    decisions: tuple[DecisionDraft, ...] = Field(
        (), description="What you decided for all of your slice, each under an id, so that others are held to it."
    )
    tasks: tuple[TaskDraft, ...] = Field(description="The tasks, in the order in which you would do them.")
    cancel: tuple[Withdrawal, ...] = Field((), description="Tasks of earlier plans, not yet begun, that fall away.")


class PlanProblem(str):
    """A problem of a plan, in words that its author can act on; `task` is the key of its task, empty for the plan."""

    task: str

    def __new__(cls, task: str, words: str) -> Self:
        """Return the words, which know their task."""
        problem = super().__new__(cls, words)
        problem.task = task
        return problem


class EarlierTask(FrozenModel):
    """A task of an earlier plan of the same planner, as it stands when the next plan is checked.

    `depends_on` are keys. A task that has `begun` can be neither taken back nor replaced while it is at work.
    """

    key: str
    status: TaskStatus
    has_begun: bool = False
    paths: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()

    @property
    def is_live(self) -> bool:
        """True if it may still change files."""
        return not self.status.is_terminal

    @property
    def is_withdrawable(self) -> bool:
        """True if it waits for its beginning."""
        return self.status == TaskStatus.PLANNED and not self.has_begun


def check_plan(plan: Plan, limits: PlanLimits, earlier: Sequence[EarlierTask] = ()) -> tuple[PlanProblem, ...]:
    """Return every problem of the plan, in words its planner can act on; empty when the plan may be carried out.

    Args:
        plan: the drafts.
        limits: the planner's place in the tree.
        earlier: what the planner submitted before; new tasks may depend on these, and take their place.
    """
    known = {task.key: task for task in earlier}
    return (
        *_check_count(plan, limits),
        *_check_keys(plan, known),
        *_check_drafts(plan, limits),
        *_check_rivals(plan, limits),
        *_check_grants(plan),
        *_check_withdrawals(plan, known),
        *_check_replacements(plan, known),
        *_check_dependencies(plan, known),
        *_check_ownership(plan, known),
        *_check_budget(plan, limits),
    )


def _check_count(plan: Plan, limits: PlanLimits) -> Iterator[PlanProblem]:
    if not plan.tasks and not plan.cancel:
        yield PlanProblem("", "the plan holds no task and takes none back: submit at least one, or finish instead")
    if len(plan.tasks) > limits.max_children:
        yield PlanProblem(
            "",
            f"the plan holds {len(plan.tasks)} tasks and at most {limits.max_children} are allowed: "
            "group what belongs together into branches",
        )


def _check_keys(plan: Plan, known: Mapping[str, EarlierTask]) -> Iterator[PlanProblem]:
    for key, count in Counter(map(attrgetter("key"), plan.tasks)).items():
        if not TASK_KEY_PATTERN.match(key):
            yield PlanProblem(
                key, f"key {key!r} is not made of 1 to 40 lower-case letters, digits and hyphens, the first no hyphen"
            )
        if count > 1:
            yield PlanProblem(key, f"key {key!r} is used {count} times")
        if key in known:
            yield PlanProblem(key, f"key {key!r} names a task that you submitted before: choose another")


def _check_drafts(plan: Plan, limits: PlanLimits) -> Iterator[PlanProblem]:
    for draft in plan.tasks:
        if not draft.outcome.strip():
            yield PlanProblem(draft.key, f"task {draft.key!r} has no outcome")
        for glob in draft.paths:
            if not is_glob(glob):
                yield PlanProblem(
                    draft.key, f"task {draft.key!r} expects to change {glob!r}, which is no glob of files"
                )
        if any("\0" in command or not command.strip() for command in draft.checks):
            yield PlanProblem(draft.key, f"task {draft.key!r} has a check that is no command")
        if draft.kind == "branch" and limits.depth + 1 >= limits.max_depth:
            depth = f"planners stand at most {limits.max_depth} deep"
            yield PlanProblem(draft.key, f"task {draft.key!r} is a branch, but {depth}: make it a leaf")
        if "\0" in draft.regenerate:
            yield PlanProblem(draft.key, f"task {draft.key!r} has a generator that is no command")
        if draft.kind == "branch" and (draft.checks or draft.variant or draft.regenerate):
            fields = "`checks`, `regenerate` and `variant`"
            yield PlanProblem(
                draft.key, f"task {draft.key!r} is a branch, and {fields} are for leaves: leave them away"
            )
        elif draft.variant is not None and draft.variant not in limits.variants:
            known = ", ".join(limits.variants) or "none are configured"
            yield PlanProblem(
                draft.key, f"task {draft.key!r} asks for worker variant {draft.variant!r}; known: {known}"
            )


def _check_rivals(plan: Plan, limits: PlanLimits) -> Iterator[PlanProblem]:
    for draft in plan.tasks:
        if draft.best_of != 1 and draft.kind == "branch":
            yield PlanProblem(draft.key, f"task {draft.key!r} is a branch, and `best_of` is for leaves: leave it away")
        elif not 1 <= draft.best_of <= limits.max_best_of:
            yield PlanProblem(
                draft.key,
                f"task {draft.key!r} has best_of {draft.best_of}: give 1 to {limits.max_best_of} (plan.max_best_of)",
            )


def _check_grants(plan: Plan) -> Iterator[PlanProblem]:
    for draft in plan.tasks:
        for grant in draft.grants:
            for problem in find_grant_problems(grant):
                yield PlanProblem(draft.key, f"task {draft.key!r} grants {problem}")
        if draft.kind == "branch" and draft.grants:
            yield PlanProblem(
                draft.key, f"task {draft.key!r} is a branch, and `grants` are for leaves: leave them to its own planner"
            )


def _check_withdrawals(plan: Plan, known: Mapping[str, EarlierTask]) -> Iterator[PlanProblem]:
    for key, count in Counter(map(attrgetter("key"), plan.cancel)).items():
        if count > 1:
            yield PlanProblem(key, f"task {key!r} is taken back {count} times")
        elif key not in known:
            yield PlanProblem(key, f"there is no task {key!r} to take back")
        elif not known[key].is_withdrawable:
            yield PlanProblem(
                key, f"task {key!r} is {known[key].status.word}: only what has not begun can be taken back"
            )
        for draft in plan.tasks:
            if key in draft.depends_on:
                yield PlanProblem(draft.key, f"task {draft.key!r} depends on {key!r}, which the plan takes back")


def _check_replacements(plan: Plan, known: Mapping[str, EarlierTask]) -> Iterator[PlanProblem]:
    cancelled = set(map(attrgetter("key"), plan.cancel))
    replaced: set[str] = set()
    for draft in plan.tasks:
        key = draft.replaces
        if key is None:
            continue
        if key in replaced or key in cancelled:
            yield PlanProblem(key, f"task {key!r} is replaced or taken back more than once")
        elif key not in known:
            yield PlanProblem(draft.key, f"task {draft.key!r} replaces {key!r}, which no earlier plan has")
        elif known[key].is_live and not known[key].is_withdrawable:
            yield PlanProblem(
                draft.key, f"task {draft.key!r} replaces {key!r}, which is {known[key].status.word}: wait for its end"
            )
        elif known[key].status.is_reached:
            yield PlanProblem(
                draft.key, f"task {draft.key!r} replaces {key!r}, which has landed: let it depend on that instead"
            )
        replaced.add(key)


def _check_dependencies(plan: Plan, known: Mapping[str, EarlierTask]) -> Iterator[PlanProblem]:
    keys = {*map(attrgetter("key"), plan.tasks), *known}
    for draft in plan.tasks:
        for key in draft.depends_on:
            if key not in keys:
                yield PlanProblem(draft.key, f"task {draft.key!r} depends on {key!r}, which is not in the plan")
            elif draft.replaces == key:
                yield PlanProblem(draft.key, f"task {draft.key!r} depends on {key!r}, which it replaces")
    cycle = find_cycle(_list_edges(plan, known))
    if cycle:
        yield PlanProblem("", f"tasks depend on each other in a circle: {' → '.join(cycle)}")


def _list_edges(plan: Plan, known: Mapping[str, EarlierTask]) -> dict[str, Sequence[str]]:
    """Return what each task depends on once the plan holds, those of earlier plans included."""
    successors = {draft.replaces: draft.key for draft in plan.tasks if draft.replaces}
    edges: dict[str, Sequence[str]] = {draft.key: draft.depends_on for draft in plan.tasks}
    for key, task in known.items():
        if key not in edges:
            edges[key] = tuple(successors.get(needed, needed) for needed in task.depends_on)
    return edges


def _check_ownership(plan: Plan, known: Mapping[str, EarlierTask]) -> Iterator[PlanProblem]:
    """Yield what two tasks both own: of the plan, or one of the plan and one of an earlier plan that is not over."""
    falling = {*map(attrgetter("key"), plan.cancel), *map(attrgetter("replaces"), plan.tasks)}
    live = [task for task in known.values() if task.is_live and task.key not in falling]
    after = _find_reachable(_list_edges(plan, known))
    pairs: Iterator[tuple[TaskDraft, TaskDraft | EarlierTask]]
    pairs = chain(combinations(plan.tasks, 2), product(plan.tasks, live))
    for left, right in pairs:
        for decision in sorted(set(left.decisions) & set(right.decisions)):
            yield PlanProblem(
                left.key,
                f"tasks {left.key!r} and {right.key!r} both own the decision {decision!r}: give it to one of them",
            )
        if right.key in after[left.key] or left.key in after[right.key]:
            continue
        shared = next((pair for pair in product(left.paths, right.paths) if can_overlap(*pair)), None)
        if shared:
            yield PlanProblem(
                left.key,
                f"tasks {left.key!r} and {right.key!r} may change the same files ({shared[0]} and {shared[1]}) "
                "with no order between them: add a dependency or divide the files",
            )


def _check_budget(plan: Plan, limits: PlanLimits) -> Iterator[PlanProblem]:
    for draft in plan.tasks:
        for name, amount in (("budget_usd", draft.budget_usd), ("budget_tokens", draft.budget_tokens)):
            if amount is not None and not 0 < amount <= MAX_DOLLARS:
                yield PlanProblem(
                    draft.key,
                    f"task {draft.key!r} has {name} {amount}: give more than 0 and at most {MAX_DOLLARS:,}, or null",
                )
                return
    usd, tokens = Decimal(0), 0
    for draft in plan.tasks:
        usd += Decimal(str(draft.budget_usd or 0)) * draft.best_of
        tokens += (draft.budget_tokens or 0) * draft.best_of
    if usd and not limits.has_prices:
        yield PlanProblem(
            "", "nobody knows the price of a model in use, so `budget_usd` would bound nothing: give `budget_tokens`"
        )
    if limits.left_usd is not None and usd > limits.left_usd:
        rest = f"your slice has {format_exact_dollars(limits.left_usd)} left"
        yield PlanProblem("", f"the tasks may cost {format_exact_dollars(usd)} together and {rest}: give them less")
    if limits.left_tokens is not None and tokens > limits.left_tokens:
        rest = f"your slice has {limits.left_tokens:,} left"
        yield PlanProblem("", f"the tasks may use {tokens:,} tokens together and {rest}: give them less")


def find_cycle(edges: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the keys of one cycle of dependencies, first key repeated at the end; empty when there is none."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as circle:
        return tuple(circle.args[1])
    return ()


def _find_reachable(edges: Mapping[str, Sequence[str]]) -> dict[str, set[str]]:
    """Return for every key all keys it depends on, directly or through others."""
    reach: dict[str, set[str]] = {}
    for key in edges:
        reached: set[str] = set()
        stack = list(edges[key])
        while stack:
            target = stack.pop()
            if target not in reached:
                reached.add(target)
                stack.extend(edges.get(target, ()))
        reach[key] = reached
    return reach
