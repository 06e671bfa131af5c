"""Revisions of a recipe while a run goes on: the files that another one makes a difference to, and what to propose.

Failures that codemods are known for stand in `known_signatures.toml`.
"""

import hashlib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from pathlib import Path
from types import MappingProxyType
from typing import Any

from orchestrator.domain.commands.migration import find_changed_fixed_parts
from orchestrator.domain.event.migration import RecipeRevised
from orchestrator.domain.event.people import ApprovalRequested
from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import choose_free_name
from orchestrator.domain.migration.files import FailureKind, FileRecord, FileStatus
from orchestrator.domain.recipe.model import Recipe, require_valid_recipe
from orchestrator.domain.recipe.step import HumanStep, ModelStep, Step, parse_step
from orchestrator.domain.run.state import RunState
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.approvals import ask_person, build_run_approval
from orchestrator.errors import UsageProblem
from orchestrator.migrate.ladder.passes import is_remedy_for, is_wanted_by_sites
from orchestrator.migrate.ladder.run_outcome import FailureGroup, group_by_signature
from orchestrator.migrate.recipe.toml_writer import diff_recipes

_DATA = Path(__file__).with_name("known_signatures.toml")


_LEFT_ALONE = frozenset({FileStatus.SKIPPED, FileStatus.REVERTED})
"""Files on which a person has had the last word; `retry` brings them back."""
_LIMITS: Mapping[str, frozenset[FailureKind]] = MappingProxyType(
    {
        "idempotent": frozenset({FailureKind.REPEATS}),
        "max_passes": frozenset({FailureKind.REPEATS}),
        "timeout_s": frozenset({FailureKind.COMMAND, FailureKind.ATTEMPT}),
        "budget_usd": frozenset({FailureKind.ATTEMPT}),
    }
)
"""Keys of a step that decide only whether its result stands: by what kinds of failures a file shows that it did not."""


class KnownFailure(FrozenModel):
    """One kind of failure: regular expressions for the tool's command and for the signature, and its remedy."""

    tool: str
    signature: str
    why: str
    step: dict[str, Any]

    def has_remedy_for(self, recipe: Recipe, signature: str, reason: str) -> bool:
        """Return True if files of a recipe that failed so would be mended by it."""
        if not re.search(self.signature, signature) and not re.search(self.signature, reason):
            return False
        return any(step.kind == "command" and re.search(self.tool, step.run) for step in recipe.step)

    def build_remedy(self, taken: Sequence[str]) -> Step:
        """Return the step, for failed files with this signature, under an id that is not taken."""
        values = {**self.step, "id": choose_free_name(self.step["id"], taken)}
        return parse_step(values | {"when": "failed", "on_signature": self.signature})


@cache
def load_known_failures() -> tuple[KnownFailure, ...]:
    """Return all of them, in the order in which they are to be tried."""
    tables = tomllib.loads(_DATA.read_text(encoding="utf-8"))["known"]
    return tuple(map(KnownFailure.model_validate, tables))


@dataclass(frozen=True)
class RecipeProposal:
    """A recipe that may mend what a group of files failed of alike, and why that may help."""

    recipe: Recipe
    group: FailureGroup
    why: str


def build_revision(state: RunState, old: Recipe, new: Recipe, by: str = "") -> RecipeRevised:
    """Return the event with which a run goes on by `new`, naming the files that have to climb again.

    These are the files whose steps up to the rung they reached are others now, the ones that a new or changed later
    step would take, those that failed of a limit which is another now, and all failed ones if they would be judged
    otherwise.

    Raises:
        UsageProblem: it changes what a run cannot change under way.
    """
    if changed := find_changed_fixed_parts(old, new):
        parts = ", ".join(changed)
        raise UsageProblem(
            f"a revision cannot change {parts}: begin a new run; what stays the same comes from the cache"
        )
    changed_steps = _find_changed_rungs(old.step, new.step)
    is_judged_anew = (old.verify, old.invariant, old.judge) != (new.verify, new.invariant, new.judge)
    changed_limits = _find_changed_limits(old.step, new.step)
    redo = []
    for file in state.migration.files.values():
        if file.status in _LEFT_ALONE:
            continue
        is_refused = is_judged_anew or _is_refused_by(changed_limits, file)
        if (file.has_failed and is_refused) or _is_affected(file, new, changed_steps):
            redo.append(file.path)
    return RecipeRevised(recipe=new.dump_values(), revision=new.revision, redo=tuple(redo), by=by)


def _find_changed_rungs(old: Sequence[Step], new: Sequence[Step]) -> frozenset[int]:
    """Return the rungs whose step gives other results than it did, also those that are no more."""
    pairs = enumerate(zip_longest(old, new))
    return frozenset(rung for rung, (before, after) in pairs if _gives_other_results(before, after))


def _gives_other_results(before: Step | None, after: Step | None) -> bool:
    if before is None or after is None or _describe_step(before) != _describe_step(after):
        return True
    is_once = 1 in (before.pass_limit, after.pass_limit)
    return is_once and max(before.max_passes, after.max_passes) > 1


def _describe_step(step: Step) -> object:
    return step.dump_result_settings(), step.when, step.on_signature


def _find_changed_limits(old: Sequence[Step], new: Sequence[Step]) -> Mapping[int, frozenset[FailureKind]]:
    """Return by rung the kinds of failures whose limit in the recipe is another now."""
    found: dict[int, frozenset[FailureKind]] = {}
    for rung, (before, after) in enumerate(zip(old, new, strict=False)):
        kinds: set[FailureKind] = set()
        for name, refused in _LIMITS.items():
            if getattr(before, name, None) != getattr(after, name, None):
                kinds |= refused
        found[rung] = frozenset(kinds)
    return found


def _is_refused_by(limits: Mapping[int, frozenset[FailureKind]], file: FileRecord) -> bool:
    """Return True if a step that the file took may have refused it for a limit that is another now."""
    return any(rung <= file.rung and file.failure in kinds for rung, kinds in limits.items())


def _is_affected(file: FileRecord, new: Recipe, changed: Iterable[int]) -> bool:
    """Return True if a changed step has had a part in what the file is, or would take it now."""
    counts_sites = bool(new.scope.site)
    for rung in changed:
        if rung <= file.rung or (rung < len(new.step) and _takes(new.step[rung], file, counts_sites)):
            return True
    return False


def _takes(step: Step, file: FileRecord, counts_sites: bool) -> bool:
    if step.when == "failed":
        return file.has_failed and is_remedy_for(step, file)
    if not file.status.is_terminal or file.has_failed:
        return False  # it will come to the step by itself, or has failed before it
    return is_wanted_by_sites(step, file, counts_sites, file.remaining_sites)


def build_proposal(
    state: RunState, recipe: Recipe, known: Sequence[KnownFailure], has_model: bool
) -> RecipeProposal | None:
    """Return a recipe that may mend the largest group of files that failed alike and that no later step is for.

    It has one step more: a known remedy, else a model's rung if a model is there for it, else a person's.

    Returns:
        None if too few files failed alike, or if the recipe has every rung that could be proposed.
    """
    for group in group_by_signature(file for file in state.migration.files.values() if _is_stuck(file, recipe)):
        if not 0 < recipe.stop.same_signature <= len(group.paths):
            continue
        if found := _find_remedy(recipe, group, known, has_model):
            step, reason = found
            return RecipeProposal(_add_step(recipe, step), group, reason)
    return None


def _is_stuck(file: FileRecord, recipe: Recipe) -> bool:
    """Return True if a file failed and no later step is for that."""
    if not file.has_failed or not file.signature:
        return False
    for step in recipe.step[file.rung + 1 :]:
        if step.when == "failed" and step.kind != "human" and is_remedy_for(step, file):
            return False
    return True


def _find_remedy(
    recipe: Recipe, group: FailureGroup, known: Sequence[KnownFailure], has_model: bool
) -> tuple[Step, str] | None:
    """Return a step that may mend what files failed of alike, and why it may."""
    taken = [step.id for step in recipe.step]
    for failure in known:
        remedy = failure.build_remedy(taken)
        if failure.has_remedy_for(recipe, group.signature, group.reason) and not _has_step(recipe, remedy):
            return remedy, failure.why
    kinds = {step.kind for step in recipe.step if step.when == "failed"}
    if has_model and "llm" not in kinds:
        return ModelStep(id=choose_free_name("tail", taken), kind="llm", when="failed"), (
            "no rule for this failure is known: a model may find what it is about"
        )
    if "human" not in kinds:
        return HumanStep(id=choose_free_name("hand", taken), kind="human", when="failed"), (
            "no rule for this failure is known: the files wait for a person, each with its reason"
        )
    return None


def _has_step(recipe: Recipe, step: Step) -> bool:
    return step.dump_result_settings() in [known.dump_result_settings() for known in recipe.step]


def _add_step(recipe: Recipe, step: Step) -> Recipe:
    """Return the recipe with a step after all others but a person's, so that what has landed need not be done again."""
    end = len(recipe.step) - (recipe.step[-1].kind == "human")
    return recipe.model_copy(update={"step": (*recipe.step[:end], step, *recipe.step[end:])})


def find_wished_revision(state: RunState, recipe: Recipe, by: str = "") -> RecipeRevised | None:
    """Return the revision that a person asked for, or accepted, and that the run has not taken yet.

    None if there is none.

    Raises:
        UsageProblem: it changes what a run cannot change under way.
    """
    wished = state.migration.requested_recipe
    return build_revision(state, recipe, require_valid_recipe(wished), by) if wished else None


async def apply_wished_recipe(context: RunContext, recipe: Recipe) -> None:
    """Go on by the recipe that a person wants, if there is another one."""
    if (revised := find_wished_revision(context.state, recipe)) is not None:
        await context.journal.append(revised)


async def propose_recipe(context: RunContext, recipe: Recipe, *, waits: bool) -> None:
    """Propose another recipe where files failed alike. The question stays in the inbox, also after the run's end.

    Args:
        context: the run.
        recipe: the one that it follows.
        waits: whether the run is to wait for the answer, because there is more to be done by either recipe.

    Raises:
        PersonNeeded: it waits.
    """
    found = build_proposal(context.state, recipe, load_known_failures(), has_model=False)
    if found is None:
        return
    if found.recipe.step[-1].kind == "human" and await context.has_worker():
        found = build_proposal(context.state, recipe, load_known_failures(), has_model=True) or found
    approval = build_run_approval(
        context,
        "recipe",
        hashlib.sha256(f"{found.group.signature}\0{found.recipe.revision}".encode()).hexdigest()[:8],
        f"go on by a revised recipe? {found.group.summary}",
        [found.why, *diff_recipes(recipe, found.recipe).splitlines()],
        recipe=found.recipe.dump_values(),
        signature=found.group.signature,
    )
    if waits:
        await ask_person(context, approval)
    elif approval.item not in context.state.approvals:
        await context.journal.append(ApprovalRequested(approval=approval))
