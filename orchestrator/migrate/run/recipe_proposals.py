"""Ask people for a revision of the recipe, and go on by it."""

import hashlib

from orchestrator.domain.event.people import ApprovalRequested
from orchestrator.domain.recipe.model import Recipe
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.approvals import ask_person, build_run_approval
from orchestrator.migrate.ladder.stop_rules import FailureGroup
from orchestrator.migrate.recipe.toml_writer import diff_recipes
from orchestrator.migrate.run.known_signatures import load_known_failures
from orchestrator.migrate.run.recipe_revisions import RecipeProposal, build_proposal, find_wished_revision


async def apply_wished_recipe(context: RunContext, recipe: Recipe) -> None:
    """Go on by the recipe that a person wants, if there is another one."""
    revised = find_wished_revision(context.state, recipe)
    if revised is not None:
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
        hashlib.sha256(f"{found.signature}\0{found.recipe.revision}".encode()).hexdigest()[:8],
        f"go on by a revised recipe? {_build_failure_group(context, found).summary}",
        [found.why, *diff_recipes(recipe, found.recipe).splitlines()],
        recipe=found.recipe.dump_values(),
    )
    if waits:
        await ask_person(context, approval)
    elif approval.item not in context.state.approvals:
        await context.journal.append(ApprovalRequested(approval=approval))


def _build_failure_group(context: RunContext, found: RecipeProposal) -> FailureGroup:
    reason = context.state.migration.files[found.paths[0]].reason
    return FailureGroup(signature=found.signature, paths=found.paths, reason=reason)
