"""The hosts of a run: which have joined, what each of them has open, and which are lost."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import anyio

from orchestrator.domain.event import Event
from orchestrator.domain.event.hosts import HostJoined, HostLeft
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.hosts.record import HostLeaveCause, HostMark
from orchestrator.domain.ids import CommitId
from orchestrator.errors import HostLost, OrchestrateError, UsageProblem
from orchestrator.hands.hosts import messages
from orchestrator.hands.hosts.borrowed_sender import BorrowedContent
from orchestrator.hands.hosts.code_sender import CodeSender
from orchestrator.hands.hosts.links import HostLink, ask_host
from orchestrator.hands.hosts.placement import Place
from orchestrator.hands.hosts.probe import PROBE, describe_difference
from orchestrator.hands.hosts.remote_workspace import RemoteWorkspace
from orchestrator.hands.policy import SandboxGrant
from orchestrator.hands.refusals import convert_host_errors
from orchestrator.redact.redactor import PATTERN_REDACTOR, Redactor
from worktrees.errors import GitError
from worktrees.repositories.repository import GitRepository

_NO_HOST = (
    "no host takes work, and this machine is not used: commands wait until a host joins (orchestrate hosts join) or is "
    "used again (orchestrate hosts uncordon)"
)


@dataclass(frozen=True)
class SharedEnvironment:
    """The things that every host needs to stand in for this machine: the code, the grant, and what workspaces borrow.

    `key` names the environment and `mirror` the repository, `commits` are what the first workspaces are opened at,
    `place` is a directory for files under way, and `logs` one for outputs. `probe` is what the probe prints in a
    sandbox here.
    """

    key: str
    mirror: str
    repository: GitRepository
    grant: SandboxGrant
    borrowed: BorrowedContent
    commits: tuple[str, ...]
    place: Path
    logs: Path
    probe: str
    redactor: Redactor = PATTERN_REDACTOR


@dataclass
class JoinedHost:
    """A host that is ready for work. `senders` send it code, by environment."""

    link: HostLink
    slots: int
    senders: dict[str, CodeSender] = field(default_factory=dict)
    workspaces: int = 0
    mark: HostMark = "ready"

    def describe_place(self, key: str, commit: CommitId | None) -> Place:
        """Return the host as a place for a workspace of an environment at a commit."""
        sender = self.senders.get(key)
        has_commit = sender is not None and commit is not None and sender.has_objects(commit)
        takes_work = sender is not None and self.mark == "ready"
        return Place(self.link.host, self.slots, self.workspaces, has_commit, takes_work)


def _get_ready_mark(_: str) -> HostMark:
    return "ready"


@dataclass
class HostRoster:
    """The hosts that joined one run.

    `version` is that of this package, `record` writes events of the run, and `get_mark` tells what a person decided
    about a host.
    """

    version: str
    record: Callable[[Event], Awaitable[None]]
    get_mark: Callable[[str], HostMark] = _get_ready_mark
    environments: dict[str, SharedEnvironment] = field(default_factory=dict)
    hosts: dict[str, JoinedHost] = field(default_factory=dict)
    _changed: anyio.Event = field(default_factory=anyio.Event)
    _tells_of_wait: bool = False

    async def admit_host(self, link: HostLink) -> None:
        """Make a host that has connected ready for work; refuse one that does not fit, and say why on both sides."""
        try:
            hello = await ask_host(link, messages.Greet())
            self._check_version(hello)
            host = JoinedHost(link, hello.slots, mark=self.get_mark(link.host))
            while missing := [one for one in self.environments.values() if one.key not in host.senders]:
                await self._open_environment(host, missing[0])
        except HostLost:
            return
        except (OrchestrateError, GitError, OSError, ValueError) as error:
            await self._refuse_host(link, str(error))
            return
        self.hosts[link.host] = host
        self._tells_of_wait = False
        await self.record(HostJoined(name=link.host, slots=host.slots, address=link.address, version=hello.version))
        self._wake()

    async def add_environment(self, environment: SharedEnvironment) -> None:
        """Have every host, now and later, ready for an environment."""
        self.environments[environment.key] = environment
        async with anyio.create_task_group() as tasks:
            for host in list(self.hosts.values()):
                tasks.start_soon(self._prepare_host, host, environment)
        self._wake()

    async def _prepare_host(self, host: JoinedHost, environment: SharedEnvironment) -> None:
        """Make a joined host ready for an environment; refuse one that does not fit."""
        try:
            await self._open_environment(host, environment)
        except HostLost:
            return
        except (OrchestrateError, GitError, OSError) as error:
            await self._refuse_host(host.link, str(error))

    async def open_workspace(self, host: JoinedHost, key: str, commit: CommitId, purpose: str) -> RemoteWorkspace:
        """Open a workspace on a host.

        Raises:
            HostLost: the host is lost.
            EnvironmentProblem: it could not be prepared.
        """
        environment, sender = self.environments[key], host.senders[key]
        host.workspaces += 1
        try:
            with convert_host_errors(f"The code could not be sent to host {host.link.host}"):
                await sender.send_objects(commit)
            asked = messages.OpenWorkspace(environment=key, commit=commit, purpose=purpose)
            opened = await ask_host(host.link, asked)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._release(host)
            raise
        return RemoteWorkspace(
            link=host.link,
            sender=sender,
            commit=commit,
            opened=opened,
            logs=environment.logs / host.link.host / opened.workspace,
            on_closed=partial(self._release, host),
            redactor=environment.redactor,
        )

    async def lose_host(self, name: str, cause: HostLeaveCause, reason: str, link: HostLink | None = None) -> None:
        """Take a host off the roster, whatever it still had open; with a `link` only if it is still joined by that."""
        host = self.hosts.get(name)
        if host is None or (link is not None and host.link is not link):
            return
        del self.hosts[name]
        await self.record(HostLeft(name=name, cause=cause, reason=reason, workspaces=host.workspaces))
        self._wake()

    async def mark_host(self, name: str, mark: HostMark) -> None:
        """Give a host no more work (`cordoned`), have it leave when it is idle (`draining`), or use it again (`ready`).

        One that has left is not minded.
        """
        if (host := self.hosts.get(name)) is None:
            return
        host.mark = mark
        await self._let_drained_leave(host)
        self._wake()

    def list_places(self, key: str, commit: CommitId | None) -> Sequence[Place]:
        """Return the hosts as places for a workspace at a commit."""
        return [host.describe_place(key, commit) for host in self.hosts.values()]

    async def wait_for_host(self) -> None:
        """Wait until a host joins or is used again; tell people once that work waits for that."""
        changed = self._changed
        if not self._tells_of_wait:
            self._tells_of_wait = True
            await self.record(Noticed(level="warning", text=_NO_HOST))
        await changed.wait()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def _release(self, host: JoinedHost) -> None:
        host.workspaces -= 1
        await self._let_drained_leave(host)
        self._wake()

    async def _let_drained_leave(self, host: JoinedHost) -> None:
        if host.mark == "draining" and not host.workspaces and host.link.host in self.hosts:
            await self._dismiss(host.link, "drained: nothing is open here any more", is_refusal=False)
            await self.lose_host(host.link.host, "drained", "")
            await host.link.drop_host()

    async def _open_environment(self, host: JoinedHost, environment: SharedEnvironment) -> None:
        """Send a host all that it lacks, and have it try its sandbox.

        Raises:
            OrchestrateError, GitError, OSError: the host is lost, or does not fit.
        """
        sender = _find_sender(host, environment)
        await sender.open_mirror(environment.commits)
        borrowed = await environment.borrowed.send_missing(host.link, environment.place)
        opened = await ask_host(
            host.link,
            messages.OpenEnvironment(
                key=environment.key,
                mirror=environment.mirror,
                place=str(environment.repository.root),
                grant=environment.grant,
                borrowed=borrowed,
                probe=PROBE,
            ),
        )
        if difference := describe_difference(environment.probe, opened.probe):
            raise UsageProblem(f"commands there would not find what they find here: {difference}")
        host.senders[environment.key] = sender

    def _check_version(self, hello: messages.Hello) -> None:
        if (hello.version, hello.protocol) != (self.version, messages.PROTOCOL):
            raise UsageProblem(
                f"it has version {hello.version} of Orchestrate (protocol {hello.protocol}), and the run has "
                f"{self.version} (protocol {messages.PROTOCOL}): install the same version on both"
            )

    async def _refuse_host(self, link: HostLink, reason: str) -> None:
        await self._dismiss(link, reason)
        if link.host in self.hosts:
            await self.lose_host(link.host, "refused", reason)
        else:
            await self.record(HostLeft(name=link.host, cause="refused", reason=reason))
        await link.drop_host()

    async def _dismiss(self, link: HostLink, reason: str, *, is_refusal: bool = True) -> None:
        try:
            await ask_host(link, messages.Dismiss(reason=reason, is_refusal=is_refusal))
        except HostLost:
            return


def _find_sender(host: JoinedHost, environment: SharedEnvironment) -> CodeSender:
    """Return what sends a host the code of an environment: one for all environments of a repository."""
    for sender in host.senders.values():
        if sender.key == environment.mirror:
            return sender
    return CodeSender(host.link, environment.repository, environment.mirror, environment.place)
