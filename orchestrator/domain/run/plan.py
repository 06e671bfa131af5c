"""Plans and the rules they must obey. A refused plan goes back to its planner as text."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from graphlib import CycleError, TopologicalSorter
from itertools import combinations, product
from operator import attrgetter

from pydantic import Field

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import TASK_KEY_PATTERN
from orchestrator.domain.paths.globs import can_overlap, is_glob
from orchestrator.domain.run.grant import find_grant_problems
from orchestrator.domain.run.task import TaskDraft
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


class Plan(FrozenModel):
    """What a planner submits: drafts of the tasks below it, and why it cut the work this way."""

    rationale: str = Field(description="Why the work is cut this way, and what you decided for all tasks.")
    tasks: tuple[TaskDraft, ...] = Field(description="The tasks, in the order in which you would do them.")


def check_plan(plan: Plan, limits: PlanLimits, existing_keys: Sequence[str] = ()) -> tuple[str, ...]:
    """Return every problem of the plan, in words its planner can act on; empty when the plan may be carried out.

    Args:
        plan: the drafts.
        limits: the planner's place in the tree.
        existing_keys: keys of tasks that the planner submitted before; new tasks may depend on them.
    """
    return (
        *_check_count(plan, limits),
        *_check_keys(plan, existing_keys),
        *_check_drafts(plan, limits),
        *_check_grants(plan),
        *_check_dependencies(plan, existing_keys),
        *_check_ownership(plan),
        *_check_budget(plan, limits),
    )


def _check_count(plan: Plan, limits: PlanLimits) -> Iterator[str]:
    if not plan.tasks:
        yield "the plan holds no task: submit at least one, or finish instead"
    if len(plan.tasks) > limits.max_children:
        yield (
            f"the plan holds {len(plan.tasks)} tasks and at most {limits.max_children} are allowed: "
            "group what belongs together into branches"
        )


def _check_keys(plan: Plan, existing_keys: Sequence[str]) -> Iterator[str]:
    for key, count in Counter(map(attrgetter("key"), plan.tasks)).items():
        if not TASK_KEY_PATTERN.match(key):
            yield f"key {key!r} is not made of 1 to 40 lower-case letters, digits and hyphens, the first no hyphen"
        if count > 1:
            yield f"key {key!r} is used {count} times"
        if key in existing_keys:
            yield f"key {key!r} names a task that you submitted before: choose another"


def _check_drafts(plan: Plan, limits: PlanLimits) -> Iterator[str]:
    for draft in plan.tasks:
        if not draft.outcome.strip():
            yield f"task {draft.key!r} has no outcome"
        for glob in draft.paths:
            if not is_glob(glob):
                yield f"task {draft.key!r} expects to change {glob!r}, which is no glob of files"
        if any("\0" in command or not command.strip() for command in draft.checks):
            yield f"task {draft.key!r} has a check that is no command"
        if draft.kind == "branch" and limits.depth + 1 >= limits.max_depth:
            depth = f"planners stand at most {limits.max_depth} deep"
            yield f"task {draft.key!r} is a branch, but {depth}: make it a leaf"
        if "\0" in draft.regenerate:
            yield f"task {draft.key!r} has a generator that is no command"
        if draft.kind == "branch" and (draft.checks or draft.variant or draft.regenerate):
            fields = "`checks`, `regenerate` and `variant`"
            yield f"task {draft.key!r} is a branch, and {fields} are for leaves: leave them away"
        elif draft.variant is not None and draft.variant not in limits.variants:
            known = ", ".join(limits.variants) or "none are configured"
            yield f"task {draft.key!r} asks for worker variant {draft.variant!r}; known: {known}"


def _check_grants(plan: Plan) -> Iterator[str]:
    for draft in plan.tasks:
        for grant in draft.grants:
            for problem in find_grant_problems(grant):
                yield f"task {draft.key!r} grants {problem}"
        if draft.kind == "branch" and draft.grants:
            yield f"task {draft.key!r} is a branch, and `grants` are for leaves: leave them to its own planner"


def _check_dependencies(plan: Plan, existing_keys: Sequence[str]) -> Iterator[str]:
    known = {*map(attrgetter("key"), plan.tasks), *existing_keys}
    for draft in plan.tasks:
        for key in draft.depends_on:
            if key not in known:
                yield f"task {draft.key!r} depends on {key!r}, which is not in the plan"
    cycle = find_cycle({draft.key: draft.depends_on for draft in plan.tasks})
    if cycle:
        yield f"tasks depend on each other in a circle: {' → '.join(cycle)}"


def _check_ownership(plan: Plan) -> Iterator[str]:
    after = _find_reachable({draft.key: draft.depends_on for draft in plan.tasks})
    for left, right in combinations(plan.tasks, 2):
        for decision in sorted(set(left.decisions) & set(right.decisions)):
            yield f"tasks {left.key!r} and {right.key!r} both own the decision {decision!r}: give it to one of them"
        if right.key in after[left.key] or left.key in after[right.key]:
            continue
        shared = next((pair for pair in product(left.paths, right.paths) if can_overlap(*pair)), None)
        if shared:
            yield (
                f"tasks {left.key!r} and {right.key!r} may change the same files ({shared[0]} and {shared[1]}) "
                "with no order between them: add a dependency or divide the files"
            )


def _check_budget(plan: Plan, limits: PlanLimits) -> Iterator[str]:
    for draft in plan.tasks:
        for name, amount in (("budget_usd", draft.budget_usd), ("budget_tokens", draft.budget_tokens)):
            if amount is not None and not 0 < amount <= MAX_DOLLARS:
                yield f"task {draft.key!r} has {name} {amount}: give more than 0 and at most {MAX_DOLLARS:,}, or null"
                return
    usd = sum((Decimal(str(draft.budget_usd)) for draft in plan.tasks if draft.budget_usd), Decimal(0))
    tokens = sum(draft.budget_tokens or 0 for draft in plan.tasks)
    if usd and not limits.has_prices:
        yield "nobody knows the price of a model in use, so `budget_usd` would bound nothing: give `budget_tokens`"
    if limits.left_usd is not None and usd > limits.left_usd:
        rest = f"your slice has {format_exact_dollars(limits.left_usd)} left"
        yield f"the tasks may cost {format_exact_dollars(usd)} together and {rest}: give them less"
    if limits.left_tokens is not None and tokens > limits.left_tokens:
        rest = f"your slice has {limits.left_tokens:,} left"
        yield f"the tasks may use {tokens:,} tokens together and {rest}: give them less"


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
