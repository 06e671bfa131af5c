"""`[env] deps`: install a run's dependencies before anybody works on it."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack
from os.path import normpath
from pathlib import Path

from orchestrator.domain.ids import CommitId
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.hands.deps.installer import DependencyInstaller
from orchestrator.hands.deps.manifests import Manifests, read_manifests
from orchestrator.hands.deps.store import DepsStore
from orchestrator.hands.local import open_local_hands
from orchestrator.hands.policy import GrantedFolder, SandboxGrant
from worktrees.git import Git
from worktrees.object_store.trees import list_tree, read_blob
from worktrees.repositories.repository import GitRepository

DEPS_DIRECTORY = "deps"
"""The directory of installed dependencies, below the state directory."""


async def install_dependencies(
    granted: SandboxGrant,
    entries: Sequence[str],
    repository: GitRepository,
    state: Path,
    store: Path,
    commit: CommitId,
    tell: Callable[[str], Awaitable[None]],
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
    manifests = await load_manifests(granted, entries, repository, commit)
    install_grant = granted.model_copy(
        update={"share": (), "read_only": tuple(iterate_outside_directories(granted, repository.root))}
    )
    async with open_local_hands(repository, state, install_grant) as hands:
        if hands.refusal_reason:
            raise EnvironmentProblem(hands.refusal_reason)
        lent = await DependencyInstaller(hands, DepsStore(store), manifests, commit).install_missing(tell, stack)
    if hidden := [name for name in lent if (repository.root / name).exists()]:
        await tell(f"deps: {', '.join(hidden)} of your checkout is not used; what deps installed stands in its place")
    return granted.model_copy(update={"lent": lent})


async def load_manifests(
    granted: SandboxGrant, entries: Sequence[str], repository: GitRepository, commit: CommitId
) -> Manifests:
    """Return the manifests that the entries name, if they may be installed.

    Raises:
        UsageProblem: an entry cannot be understood, or tier 2 is granted to nobody.
    """
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
