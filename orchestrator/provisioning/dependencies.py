"""`[env]`: install a run's dependencies and run a recipe's setup commands, before anybody works on it.

What they make is lent to every workspace. It goes before what the user's own checkout has in these places.
"""

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from os.path import normpath
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.domain.ids import CommitId
from orchestrator.domain.recipe.model import RecipeEnv
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.hands.local import LocalHands, open_local_hands
from orchestrator.hands.policy import GrantedFolder, SandboxGrant
from worktrees.git import Git
from worktrees.object_store.trees import list_tree, read_blob
from worktrees.repositories.repository import GitRepository

if TYPE_CHECKING:
    from orchestrator.hands.deps.installer import ReportProgress
    from orchestrator.hands.deps.manifests import Manifests

DEPS_DIRECTORY = "deps"
"""The directory of installed dependencies, below the state directory."""


_MANIFEST = compile_lazily(
    r"(?:.*/)?(?:requirements[^/]*\.(?:txt|in)|constraints[^/]*\.txt|pyproject\.toml|setup\.(?:py|cfg)|Pipfile(?:\.lock)?"
    r"|[^/]+\.lock|package(?:-lock)?\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|\.npmrc|go\.(?:mod|sum)|Cargo\.toml"
    r"|Gemfile|environment\.ya?ml|Makefile|tox\.ini|noxfile\.py)"
)


async def install_dependencies(
    granted: SandboxGrant,
    entries: Sequence[str],
    repository: GitRepository,
    state: Path,
    store: Path,
    commit: CommitId,
    tell: "ReportProgress",
    stack: ExitStack,
) -> SandboxGrant:
    """Return the grant with the dependencies lent to every workspace; they stay while `stack` is open.

    They go before what the user's own checkout has in these places: it may be of another commit. Nothing is installed
    where the user grants nobody tier 2: a repository may name deps as well.

    Raises:
        UsageProblem: an entry cannot be understood, or tier 2 is granted to nobody.
        EnvironmentProblem: something cannot be installed.
    """
    if not entries:
        return granted
    from orchestrator.hands.deps.installer import DependencyInstaller  # few projects have deps installed
    from orchestrator.hands.deps.store import DepsStore

    manifests = await load_manifests(granted, entries, repository, commit)
    async with _open_lender(granted, repository, state) as hands:
        lent = await DependencyInstaller(hands, DepsStore(store), commit, manifests).make_missing(tell, stack)
    await _tell_hidden("deps", "what deps installed", lent, repository.root, tell)
    return granted.model_copy(update={"lent": lent})


async def load_manifests(
    granted: SandboxGrant, entries: Sequence[str], repository: GitRepository, commit: CommitId
) -> "Manifests":
    """Return the manifests that the entries name, if they may be installed.

    Raises:
        UsageProblem: an entry cannot be understood, or tier 2 is granted to nobody.
    """
    from orchestrator.hands.deps.manifests import read_manifests

    if granted.ceiling < Tier.REGISTRIES:
        text = (
            f"deps under [env] need tier 2, and nothing here may have more than {int(granted.ceiling)}: set ask_tier "
            "under [hands] to 2, or remove deps"
        )
        raise UsageProblem(text, ("env", "deps"))

    async def read_text_at_commit(path: str) -> str | None:
        return await _read_committed_text(repository.git, commit, path)

    return await read_manifests(entries, read_text_at_commit)


def iterate_outside_directories(granted: SandboxGrant, root: Path) -> Iterator[GrantedFolder]:
    """Yield the granted directories outside the checkout: nothing is installed there."""
    for folder in granted.read_only:
        if folder.path.startswith("~") or not Path(normpath(root / folder.path)).is_relative_to(root):
            yield folder


async def _read_committed_text(git: Git, commit: CommitId, path: str) -> str | None:
    """Return a regular file's text in a commit; None if there is none."""
    found = [entry for entry in await list_tree(git, commit, [path]) if entry.path == path]
    if not found or not found[0].mode.startswith("100"):
        return None
    return (await read_blob(git, found[0].oid)).decode("utf-8", "surrogateescape")


async def run_setup_commands(
    granted: SandboxGrant,
    env: RecipeEnv,
    repository: GitRepository,
    state: Path,
    store: Path,
    commit: CommitId,
    tell: "ReportProgress",
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
    from orchestrator.hands.deps.setup_commands import ProjectSetup  # few recipes have setup
    from orchestrator.hands.deps.store import DepsStore

    tier = require_setup_tier(granted, env)
    async with _open_lender(granted, repository, state) as hands:
        manifests = await _list_manifests(repository, commit)
        setup = ProjectSetup(hands, DepsStore(store), commit, env.setup, manifests, tier)
        lent = await setup.make_missing(tell, stack)
    await _tell_hidden("setup", "what setup made", lent, repository.root, tell)
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
    entries = await list_tree(repository.git, commit)
    return {entry.path: entry.oid for entry in entries if _MANIFEST.fullmatch(entry.path)}


@asynccontextmanager
async def _open_lender(granted: SandboxGrant, repository: GitRepository, state: Path) -> AsyncIterator[LocalHands]:
    """Open hands that borrow nothing of the checkout, for what is made once and then lent.

    Raises:
        EnvironmentProblem: they run no commands here.
    """
    outside = tuple(iterate_outside_directories(granted, repository.root))
    own_grant = granted.model_copy(update={"share": (), "read_only": outside, "tools": ()})
    async with open_local_hands(repository, state, own_grant) as hands:
        if hands.refusal_reason:
            raise EnvironmentProblem(hands.refusal_reason)
        yield hands


async def _tell_hidden(setting: str, made: str, lent: Mapping[str, str], root: Path, tell: "ReportProgress") -> None:
    if hidden := [name for name in lent if (root / name).exists()]:
        await tell(f"{setting}: {', '.join(hidden)} of your checkout is not used; {made} stands in its place")
