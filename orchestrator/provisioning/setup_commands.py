"""`[env] setup` of a recipe: run its commands before anybody works on the run, and lend what they make."""

import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from pathlib import Path

from orchestrator.domain.ids import CommitId
from orchestrator.domain.recipe.scope import RecipeEnv
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.hands.deps.setup_commands import ProjectSetup
from orchestrator.hands.deps.store import DepsStore
from orchestrator.hands.local import open_local_hands
from orchestrator.hands.policy import SandboxGrant
from orchestrator.provisioning.dependencies import iterate_outside_directories
from worktrees.object_store.trees import list_tree
from worktrees.repositories.repository import GitRepository

_MANIFEST = re.compile(
    r"(?:.*/)?(?:requirements[^/]*\.(?:txt|in)|constraints[^/]*\.txt|pyproject\.toml|setup\.(?:py|cfg)|Pipfile(?:\.lock)?"
    r"|[^/]+\.lock|package(?:-lock)?\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|\.npmrc|go\.(?:mod|sum)|Cargo\.toml"
    r"|Gemfile|environment\.ya?ml|Makefile|tox\.ini|noxfile\.py)"
)


async def run_setup_commands(
    granted: SandboxGrant,
    env: RecipeEnv,
    repository: GitRepository,
    state: Path,
    store: Path,
    commit: CommitId,
    tell: Callable[[str], Awaitable[None]],
    stack: ExitStack,
) -> SandboxGrant:
    """Return the grant with the results of `env.setup` lent to every workspace; they stay while `stack` is open.

    Nothing is run where the user grants nobody the tier that it takes.

    Raises:
        UsageProblem: that tier is granted to nobody.
        EnvironmentProblem: a command fails.
    """
    if not env.setup:
        return granted
    tier = require_setup_tier(granted, env)
    outside = tuple(iterate_outside_directories(granted, repository.root))
    setup_grant = granted.model_copy(update={"share": (), "read_only": outside})
    async with open_local_hands(repository, state, setup_grant) as hands:
        if hands.refusal_reason:
            raise EnvironmentProblem(hands.refusal_reason)
        manifests = await _list_manifests(repository, commit)
        lent = await ProjectSetup(hands, DepsStore(store), env.setup, manifests, commit, tier).run_missing_setup(
            tell, stack
        )
    if hidden := [name for name in lent if (repository.root / name).exists()]:
        await tell(f"setup: {', '.join(hidden)} of your checkout is not used; what setup made stands in its place")
    return granted.model_copy(update={"lent": {**granted.lent, **lent}})


def require_setup_tier(granted: SandboxGrant, env: RecipeEnv) -> Tier:
    """Return the tier at which the commands of `env.setup`, of which there are some, are run.

    Raises:
        UsageProblem: it is granted to nobody.
    """
    tier, key = Tier.REGISTRIES, env.setup[0]
    if env.network == "allow":
        tier, key = Tier.EVERYTHING, "network"
    if granted.ceiling < tier:
        raise UsageProblem(_explain_missing_tier(tier, granted.ceiling), ("env", key))
    return tier


def _explain_missing_tier(tier: Tier, ceiling: Tier) -> str:
    if tier == Tier.EVERYTHING:
        return (
            f'network = "allow" under [env] asks for tier {int(tier)}, {tier.description}, and nothing here may have '
            f"more than {int(ceiling)}. A recipe cannot raise that: set ask_tier under [hands] to {int(tier)}, or "
            "remove network"
        )
    return (
        f"setup under [env] needs tier {int(tier)}, and nothing here may have more than {int(ceiling)}: set ask_tier "
        f"under [hands] to {int(tier)}, or remove setup, before and after"
    )


async def _list_manifests(repository: GitRepository, commit: CommitId) -> Mapping[str, str]:
    """Return path → blob of the files that name the project's needs, as they stand in the commit."""
    return {
        entry.path: entry.oid for entry in await list_tree(repository.git, commit) if _MANIFEST.fullmatch(entry.path)
    }
