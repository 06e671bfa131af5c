"""Revisions of a recipe while a run goes on: which files another one makes a difference to, and which to propose.

Pure rules over the state; asking people and recording is done where the run is driven.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from orchestrator.domain.commands.migration import find_changed_fixed_parts
from orchestrator.domain.event.migration import RecipeRevised
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.run.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.migrate.recipe import Recipe, Step
from orchestrator.migrate.run.known_signatures import KnownFailure, choose_free_id

_FAILED = frozenset(
    {
        *(FileStatus.RESTORED, FileStatus.EJECTED),
        *(FileStatus.REJECTED, FileStatus.UNCHANGED, FileStatus.NEEDS_HUMAN),
    }
)
_LEFT_ALONE = frozenset({FileStatus.SKIPPED, FileStatus.REVERTED})
"""Where a person has had the last word; `retry` brings such files back."""


@dataclass(frozen=True)
class RecipeProposal:
    """A recipe that may mend what many files failed of alike: their signature, what it adds, and why that may help."""

    recipe: Recipe
    signature: str
    paths: tuple[str, ...]
    why: str


def build_revision(state: RunState, old: Recipe, new: Recipe, by: str = "") -> RecipeRevised:
    """The event with which a run goes on by `new`, naming the files that have to climb again.

    These are the files whose steps up to the rung they reached are others now, the ones that a new or changed later
    step would take, and all failed ones if they would be judged otherwise.

    Raises:
        UsageProblem: it changes what a run cannot change under way.
    """
    if changed := find_changed_fixed_parts(old.dump_values(), new.dump_values()):
        parts = ", ".join(changed)
        raise UsageProblem(
            f"a revision cannot change {parts}: begin a new run; what stays the same comes from the cache"
        )
    changed_steps = _changed(old.step, new.step)
    is_judged_anew = (old.verify, old.invariant, old.judge) != (new.verify, new.invariant, new.judge)
    redo = []
    for file in state.files.values():
        if file.status not in _LEFT_ALONE and (
            _is_affected(file, new, changed_steps) or (is_judged_anew and file.status in _FAILED)
        ):
            redo.append(file.path)
    return RecipeRevised(recipe=new.dump_values(), revision=new.revision, redo=tuple(redo), by=by)


def _changed(old: Sequence[Step], new: Sequence[Step]) -> frozenset[int]:
    """The rungs that are not what they were, also those that are no more."""
    longest = max(len(old), len(new))
    return frozenset(rung for rung in range(longest) if _kind(old, rung) != _kind(new, rung))


def _kind(steps: Sequence[Step], rung: int) -> object:
    if rung < len(steps):
        return (steps[rung].dump_result_settings(), steps[rung].when, steps[rung].on_signature)
    return None


def _is_affected(file: FileRecord, new: Recipe, changed: Iterable[int]) -> bool:
    """Whether a changed step has had a part in what the file is, or would take it now."""
    counts_sites = bool(new.scope.site)
    return any(
        rung <= file.rung or (rung < len(new.step) and _takes(new.step[rung], file, counts_sites)) for rung in changed
    )


def _takes(step: Step, file: FileRecord, counts_sites: bool) -> bool:
    if step.when == "failed":
        return file.status in _FAILED and is_remedy_for(step, file)
    if not file.status.is_terminal or file.status in _FAILED:
        return False  # it will come to the step by itself, or has failed before it
    if step.when == "always" or not counts_sites:
        return True
    if step.when == "sites":
        return file.sites > 0
    return file.remaining_sites > 0


def is_remedy_for(step: Step, file: FileRecord) -> bool:
    """Whether a step for failed files is for what this one failed of."""
    return not step.on_signature or any(re.search(step.on_signature, text) for text in (file.signature, file.reason))


def build_proposal(
    state: RunState, recipe: Recipe, known: Sequence[KnownFailure], has_model: bool
) -> RecipeProposal | None:
    """A recipe that may mend the largest group of files that failed alike and that no later step is for.

    It has one step more: a known remedy, else a model's rung if a model is there for it, else a person's.

    Returns:
        None if too few files failed alike, or if the recipe has every rung that could be proposed.
    """
    files = []
    for file in state.files.values():
        if _is_stuck(file, recipe):
            files.append(file)
    counts = Counter(file.signature for file in files)
    for signature, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        alike = []
        for file in files:
            if file.signature == signature:
                alike.append(file)
        if 0 < recipe.stop.same_signature <= count and (found := _remedy(recipe, alike, known, has_model)):
            step, why = found
            return RecipeProposal(_with(recipe, step), signature, tuple(file.path for file in alike), why)
    return None


def _is_stuck(file: FileRecord, recipe: Recipe) -> bool:
    later = []
    for step in recipe.step[file.rung + 1 :]:
        if step.when == "failed" and step.kind != "human":
            later.append(step)
    return file.status in _FAILED and bool(file.signature) and not any(is_remedy_for(step, file) for step in later)


def _remedy(
    recipe: Recipe, alike: Sequence[FileRecord], known: Sequence[KnownFailure], has_model: bool
) -> tuple[Step, str] | None:
    taken, first = [step.id for step in recipe.step], alike[0]
    for one in known:
        if one.has_remedy_for(recipe, first.signature, first.reason) and not _has(recipe, one.build_remedy(taken)):
            return one.build_remedy(taken), one.why
    kinds = {step.kind for step in recipe.step if step.when == "failed"}
    if has_model and "llm" not in kinds:
        step = Step(id=choose_free_id("tail", taken), kind="llm", when="failed")
        return step, "no rule for this failure is known: a model may find what it is about"
    if "human" not in kinds:
        step = Step(id=choose_free_id("hand", taken), kind="human", when="failed")
        return step, "no rule for this failure is known: the files wait for a person, each with its reason"
    return None


def _has(recipe: Recipe, step: Step) -> bool:
    return any(one.dump_result_settings() == step.dump_result_settings() for one in recipe.step)


def _with(recipe: Recipe, step: Step) -> Recipe:
    """With one step more, after all others but a person's, so that what has landed need not be done again."""
    end = len(recipe.step) - (recipe.step[-1].kind == "human")
    steps = (*recipe.step[:end], step, *recipe.step[end:])
    return Recipe.model_validate(
        recipe.dump_values() | {"step": [one.model_dump(exclude_defaults=True) for one in steps]}
    )


def find_wished_revision(state: RunState, recipe: Recipe, by: str = "") -> RecipeRevised | None:
    """The revision that a person asked for, or accepted, and that the run has not taken yet; None if there is none.

    Raises:
        UsageProblem: it changes what a run cannot change under way.
    """
    if state.requested_recipe is None:
        return None
    return build_revision(state, recipe, Recipe.model_validate(state.requested_recipe), by)
