"""Installing what a project needs before anybody works on it, so that workers need no network.

The harness does it, at tier 2 in a workspace at the run's base commit: Python packages as wheels only, npm packages
without their scripts. So no code of a package runs, and what is installed can only be what the user's registries serve.
The result is kept and lent read-only to every workspace.
"""

import hashlib
import json
import os
import shlex
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import ClassVar

from anyio import to_thread

from orchestrator.domain.ids import CommitId
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.sandbox.network import describe_refused_hosts
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.errors import EnvironmentProblem, ToolRefused
from orchestrator.hands.deps.manifests import NODE_MODULES, VENV, Manifests
from orchestrator.hands.deps.store import DepsStore
from orchestrator.hands.execution.workspace_runner import run_and_read
from orchestrator.hands.local import LocalHands
from orchestrator.hands.workspace import LocalWorkspace
from orchestrator.ports.hands import CommandResult, ShellCommand

PREPARATION_TIMEOUT_S = 3600.0
_ASKING_S = 60.0
_TAIL_CHARS = 2_000
_NO_WHEEL = compile_lazily(r"No matching distribution found for (\S+)")
_PYTHON = "python3 -c 'import sys, platform as p; print(sys.version, sys.prefix, p.platform(), p.libc_ver())'"
_NODE = "node --version && npm --version"
_SPARE = f"{VENV}/.tmp"
"""The folder for pip's downloads: a sandbox's own /tmp is too small for large wheels."""
_INSTALL_PYTHON = (
    f"python3 -m venv {VENV} && mkdir {_SPARE} && TMPDIR=$PWD/{_SPARE} {VENV}/bin/python -m pip install "
    "--no-cache-dir --disable-pip-version-check --progress-bar off --retries 2 --only-binary :all:"
)
_INSTALL_NODE = "npm_config_cache=$PWD/.npm-cache npm ci --ignore-scripts --no-audit --no-fund && rm -rf .npm-cache"

ReportProgress = Callable[[str], Awaitable[None]]


@dataclass(frozen=True)
class StoredPreparation:
    """Prepares a project at `commit` with `hands` that borrow nothing of its checkout, once for all runs."""

    hands: LocalHands
    store: DepsStore
    commit: CommitId

    purpose: ClassVar[str]

    async def make_missing(self, report_progress: ReportProgress, stack: ExitStack) -> dict[str, str]:
        """Make what is not in the store, reporting progress; keep the result while `stack` is open.

        Returns:
            what can be lent to workspaces: the places in the checkout, each with the directory below which it lies.

        Raises:
            EnvironmentProblem: it cannot be made here; says why and how to mend it.
        """
        workspace = await self.hands.open_workspace(self.commit, Purpose(self.purpose))
        try:
            key = await self._compute_key(workspace)
            make = partial(self._make_entry, key, workspace, report_progress)
            folder = await self.store.ensure_entry(key, make, stack)
        finally:
            await workspace.close()
        return {name: str(folder) for name in await to_thread.run_sync(self._list_made, folder)}

    async def _compute_key(self, workspace: LocalWorkspace) -> str:
        """Return a hash of all that decides the result."""
        raise NotImplementedError

    async def _make_entry(self, key: str, workspace: LocalWorkspace, report_progress: ReportProgress) -> None:
        raise NotImplementedError

    def _list_made(self, folder: Path) -> Iterable[str]:
        raise NotImplementedError


@dataclass(frozen=True)
class DependencyInstaller(StoredPreparation):
    """Installs the dependencies of one project; the `hands` may use tier 2."""

    manifests: Manifests

    purpose = "deps"

    def _list_made(self, folder: Path) -> Iterable[str]:
        return _find_installed(folder)

    async def _compute_key(self, workspace: LocalWorkspace) -> str:
        """Return a hash of all that decides the result: manifests, tools and the policy of tier 2."""
        probes = [*([_PYTHON] if self.manifests.needs_python else []), *([_NODE] if self.manifests.folders else [])]
        versions = await read_tool_versions(workspace, " && ".join(probes), "deps under [env] cannot be installed")
        manifests = self.manifests
        method = (_INSTALL_PYTHON, _INSTALL_NODE, versions, await workspace.get_policy_hash(Tier.REGISTRIES))
        return hash_entry_parts(manifests.texts, manifests.files, manifests.lines, manifests.folders, method)

    async def _make_entry(self, key: str, workspace: LocalWorkspace, report_progress: ReportProgress) -> None:
        manifests = ", ".join(sorted(self.manifests.texts))
        await report_progress(f"deps: installing what {manifests} names, for all workspaces")
        names = []
        if self.manifests.needs_python:
            await self._run_command(workspace, self._build_python_command())
            names.append(VENV)
        for folder in self.manifests.folders:
            names += await self._install_node(workspace, folder)
        try:
            await to_thread.run_sync(self.store.move_into_entry, key, workspace.root, names)
        except OSError as error:
            raise EnvironmentProblem(f"deps: what was installed could not be kept: {error}") from error
        await report_progress(f"deps: installed as {key}")

    def _build_python_command(self) -> ShellCommand:
        files = "".join(f" -r {shlex.quote(f'./{file}')}" for file in self.manifests.files)
        stdin_option = " -r /dev/stdin" if self.manifests.lines else ""
        lines = "".join(f"{line}\n" for line in self.manifests.lines)
        line = f"{_INSTALL_PYTHON}{files}{stdin_option} && rm -r {_SPARE}"
        return ShellCommand(line=line, stdin=lines, timeout_s=PREPARATION_TIMEOUT_S, tier=Tier.REGISTRIES)

    async def _install_node(self, workspace: LocalWorkspace, folder: str) -> list[str]:
        """Install with npm; return the directories made, also those below `folder` for an npm workspace."""
        command = ShellCommand(line=_INSTALL_NODE, cwd=folder, timeout_s=PREPARATION_TIMEOUT_S, tier=Tier.REGISTRIES)
        await self._run_command(workspace, command)
        return await to_thread.run_sync(_find_node_modules, workspace.root, folder)

    async def _run_command(self, workspace: LocalWorkspace, command: ShellCommand) -> None:
        """Run a command.

        Raises:
            EnvironmentProblem: it failed.
        """
        failed = await run_preparation(workspace, command, "deps under [env] cannot be installed")
        if failed:
            raise EnvironmentProblem("\n".join(_describe_failure(failed)))


@dataclass(frozen=True)
class FailedPreparation:
    """A command of `deps` or `setup` that failed: how it ended, what it printed, the lines for people about both."""

    result: CommandResult
    output: str

    def describe_ending(self, exit_word: str) -> str:
        """Return in words how it ended, an exit code after `exit_word`."""
        result = self.result
        if result.exit_code is not None:
            return f"{exit_word} {result.exit_code}"
        return f"{result.ending} {result.detail}".strip()

    def iterate_lines(self) -> Iterator[str]:
        """Yield the end of what it printed, and the hosts that it was refused."""
        yield self.output.strip()[-_TAIL_CHARS:]
        for host in describe_refused_hosts(self.result.network):
            yield f"The network refused {host}. registries under [hands] names further hosts."


async def run_preparation(workspace: LocalWorkspace, command: ShellCommand, refused: str) -> FailedPreparation | None:
    """Run a command that prepares a project; return how it failed, None if it did not.

    Raises:
        EnvironmentProblem: it may not be run; begins with `refused`.
    """
    try:
        result, printed = await run_and_read(workspace, command)
    except ToolRefused as refusal:
        raise EnvironmentProblem(f"{refused}: {refusal}") from refusal
    if result.is_success:
        return None
    return FailedPreparation(result, printed)


async def read_tool_versions(workspace: LocalWorkspace, line: str, problem: str) -> str:
    """Return what a command line prints of the tools in a workspace.

    Raises:
        EnvironmentProblem: it failed; begins with `problem`.
    """
    result, printed = await run_and_read(workspace, ShellCommand(line=line, timeout_s=_ASKING_S))
    if not result.is_success:
        raise EnvironmentProblem(f"{problem}: {printed.strip() or result.detail}")
    return printed


def hash_entry_parts(*parts: object) -> str:
    """Return the key of an entry in the store, by all that decides its content."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def _describe_failure(failed: FailedPreparation) -> Iterator[str]:
    """Yield the lines that say why an installation failed and how to mend it."""
    yield f"deps under [env] could not be installed ({failed.describe_ending('exit code')}):"
    yield from failed.iterate_lines()
    if not describe_refused_hosts(failed.result.network) and (missing := _NO_WHEEL.search(failed.output)):
        yield (
            f"There is no wheel of {missing[1]} for this Python and system in your index. Only wheels are allowed, "
            "because a source archive runs its own code when it is built: name a version that has one, or build it "
            "yourself and add its directory to find-links of your pip."
        )


def _find_node_modules(root: Path, folder: str) -> list[str]:
    names = []
    for parent, folders, _ in os.walk(root / folder):
        if NODE_MODULES in folders:
            names.append(str((Path(parent) / NODE_MODULES).relative_to(root)))
            folders.remove(NODE_MODULES)
    return sorted(names)


def _find_installed(entry_folder: Path) -> Iterator[str]:
    """Yield the names of installed directories, relative to `entry_folder`."""
    pending = [PurePosixPath()]
    while pending:
        folder = pending.pop()
        for entry in sorted((entry_folder / folder).iterdir()):
            name = folder / entry.name
            if entry.name in (VENV, NODE_MODULES):
                yield str(name)
            elif entry.is_dir() and not entry.is_symlink():
                pending.append(name)
