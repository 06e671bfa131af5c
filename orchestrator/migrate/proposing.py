"""Asking people whether to go on by a revised recipe, and going on by it."""

import hashlib

from orchestrator.domain.event.people import ApprovalRequested
from orchestrator.engine.approvals import ask, question
from orchestrator.engine.context import RunContext
from orchestrator.migrate.breaker import Cluster
from orchestrator.migrate.known_signatures import known_signatures
from orchestrator.migrate.recipe import Recipe
from orchestrator.migrate.recipe.writing import recipe_diff
from orchestrator.migrate.revising import Proposal, proposal, wished_revision


async def revise(context: RunContext, recipe: Recipe) -> None:
    """Go on by the recipe that a person wants, if there is another one."""
    revised = wished_revision(context.state, recipe)
    if revised is not None:
        await context.journal.append(revised)


async def propose(context: RunContext, recipe: Recipe, *, waits: bool) -> None:
    """Propose another recipe where files failed alike. The question stays in the inbox, also after the run's end.

    Args:
        context: the run.
        recipe: the one that it follows.
        waits: whether the run is to wait for the answer, because there is more to be done by either recipe.

    Raises:
        PersonNeeded: it waits.
    """
    found = proposal(context.state, recipe, known_signatures(), has_model=False)
    if found is None:
        return
    if found.recipe.step[-1].kind == "human" and await context.has_worker():
        found = proposal(context.state, recipe, known_signatures(), has_model=True) or found
    approval = question(
        context,
        "recipe",
        hashlib.sha256(f"{found.signature}\0{found.recipe.revision}".encode()).hexdigest()[:8],
        f"go on by a revised recipe? {_cluster(context, found).in_words}",
        [found.why, *recipe_diff(recipe, found.recipe).splitlines()],
        recipe=found.recipe.dump(),
    )
    if waits:
        await ask(context, approval)
    elif approval.item not in context.state.approvals:
        await context.journal.append(ApprovalRequested(approval=approval))


def _cluster(context: RunContext, found: Proposal) -> Cluster:
    reason = context.state.files[found.paths[0]].reason
    return Cluster(signature=found.signature, paths=found.paths, reason=reason)
