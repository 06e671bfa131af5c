"""Setting a project up by commands of its own choice, before anybody works on it: once, for all workspaces.

The harness runs them, one after the other in a workspace at the run's base commit. What they leave in places that git
ignores is kept by a hash of all that decides it, and lent read-only to every workspace. Unlike `deps` they may run code
of packages; so they have the walls of any other command, and no more of the network than the user lets commands have.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath

from anyio import to_thread

from orchestrator.crash import crash_point
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.errors import EnvironmentProblem
from orchestrator.hands.deps import installer
from orchestrator.hands.deps.installer import ReportProgress, StoredPreparation
from orchestrator.hands.workspace import LocalWorkspace
from orchestrator.ports.hands import ShellCommand

_TOOLS = "python3 -VV; python3 -c 'import sys; print(sys.prefix)'; node --version; npm --version; uname -m; true"
_CACHES = frozenset({"__pycache__", ".pytest_cache", ".ruff_cache", ".mypy_cache", ".npm", ".cache"})
"""Caches that tools leave behind: lent read-only they would only be in the way."""


@dataclass(frozen=True)
class ProjectSetup(StoredPreparation):
    """Sets a project up by command lines, run by `hands` that borrow nothing of the checkout.

    `manifests` are ids of the files that say what the project needs, by path: when one changes, the setup runs again.
    """

    commands: Sequence[str]
    manifests: Mapping[str, str]
    tier: Tier

    purpose = "setup"

    def _list_made(self, folder: Path) -> Iterable[str]:
        return self.store.list_entry_paths(folder.name)

    async def _compute_key(self, workspace: LocalWorkspace) -> str:
        """Return a hash of all that decides the result: commands, manifests, tools and the policy of the tier."""
        tools = await installer.read_tool_versions(workspace, _TOOLS, "setup under [env] cannot be run")
        policy = await workspace.get_policy_hash(self.tier)
        asked = ("setup", list(self.commands), dict(self.manifests))
        return installer.hash_entry_parts(*asked, tools, policy, int(self.tier))

    async def _make_entry(self, key: str, workspace: LocalWorkspace, report_progress: ReportProgress) -> None:
        for number, line in enumerate(self.commands, start=1):
            await report_progress(f"setup: {line} ({number} of {len(self.commands)})")
            await self._run_line(workspace, line)
        paths = []
        for name in await workspace.list_untracked(ignored=True):
            if PurePosixPath(name).name not in _CACHES:
                paths.append(name)
        unignored = await workspace.list_untracked(ignored=False)
        if unignored:
            note = f"git does not ignore {', '.join(unignored[:5])}, so that is not kept"
            await report_progress(f"setup: {note}; name it in .gitignore if it is needed")
        if not paths:
            raise EnvironmentProblem(
                "setup under [env] left nothing that git ignores, so there is nothing to keep: let it install into "
                "places that .gitignore names, such as .venv or node_modules"
            )
        crash_point("setup.before-keep")
        try:
            await to_thread.run_sync(partial(self.store.move_into_entry, key, workspace.root, paths, is_listed=True))
        except OSError as error:
            raise EnvironmentProblem(f"setup: what it made could not be kept: {error}") from error
        crash_point("setup.after-keep")
        await report_progress(f"setup: {', '.join(paths)} kept as {key}")

    async def _run_line(self, workspace: LocalWorkspace, line: str) -> None:
        command = ShellCommand(line=line, timeout_s=installer.PREPARATION_TIMEOUT_S, tier=self.tier)
        failed = await installer.run_preparation(workspace, command, f"setup under [env] cannot run `{line}`")
        if failed:
            head = f"setup under [env]: `{line}` {failed.describe_ending('exited')}:"
            raise EnvironmentProblem("\n".join((head, *failed.iterate_lines())))
