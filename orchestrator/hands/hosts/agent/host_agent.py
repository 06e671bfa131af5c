"""The agent of a host: carries out what a brain asks, on hands of its own over copies of the brain's repositories.

It knows no network: whoever carries the requests calls `answer_text`.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Any

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup, TaskStatus

from orchestrator.domain.ids import CommitId
from orchestrator.domain.purpose import Purpose
from orchestrator.errors import HostLost, UsageProblem, convert_error
from orchestrator.hands.execution.workspace_runner import run_and_read
from orchestrator.hands.hosts import calls, messages
from orchestrator.hands.hosts.agent.hidden_places import find_visible_folder
from orchestrator.hands.hosts.agent.host_store import HostStore
from orchestrator.hands.hosts.agent.host_workspaces import HostWorkspace
from orchestrator.hands.hosts.failures import build_failure
from orchestrator.hands.local import LocalHands, open_local_hands
from orchestrator.hands.policy import SandboxGrant
from orchestrator.ports.hands import ShellCommand
from worktrees.object_store.pack_transfer import find_missing_objects, store_pack_file
from worktrees.repositories.mirror import MirrorContent, open_mirror, point_mirror_refs
from worktrees.repositories.repository import GitRepository

_LOG = logging.getLogger(__name__)

_FIRST_PATIENCE_S = 60.0
"""A brain that has not told yet how often it asks may say nothing for so long."""
_LOOK_S = 0.5


@dataclass(frozen=True)
class HostIdentity:
    """A host in its own words: its name, the commands that it runs at once, and the version of this package."""

    name: str
    slots: int
    version: str


@dataclass
class _Mirrored:
    """The copy of a repository, and its original's settings and tags; `is_pointed` once all of these are in place."""

    repository: GitRepository
    content: MirrorContent
    is_pointed: bool = False

    async def point_refs(self) -> None:
        """Point what can be pointed by now."""
        if not self.is_pointed:
            self.is_pointed = await point_mirror_refs(self.repository, self.content)


@dataclass
class HostAgent:
    """Serves one brain. Everything that it started is dead when `close` returns.

    `tasks` is a task group that outlives it. `private` are places that no command may see: keys, for example.
    `dismissal` is why the brain does not want this host, None while it does.
    """

    identity: HostIdentity
    store: HostStore
    tasks: TaskGroup
    private: tuple[Path, ...] = ()
    dismissal: messages.Dismiss | None = None
    _patience_s: float = _FIRST_PATIENCE_S
    _greeted_at: float = field(default_factory=anyio.current_time)
    _mirrors: dict[str, _Mirrored] = field(default_factory=dict)
    _environments: dict[str, tuple[LocalHands, GitRepository]] = field(default_factory=dict)
    _workspaces: dict[str, HostWorkspace] = field(default_factory=dict)
    _closing: anyio.Event = field(default_factory=anyio.Event)
    _closed: list[anyio.Event] = field(default_factory=list)
    _setup: anyio.Lock = field(default_factory=anyio.Lock)

    async def answer_text(self, text: str) -> str:
        """Carry out the request that a text holds; return its reply as a text, which may tell of a failure.

        Raises:
            HostLost: this host ends what it has begun. What came of the request is no result then.
        """
        self._require_open()
        try:
            reply = await self.answer_request(messages.decode_request(text))
        except Exception as error:  # noqa: BLE001 - the brain is told of everything, and goes on
            if convert_error(error) is None and not isinstance(error, ValueError):
                _LOG.exception("a request failed")
            reply = build_failure(error)
        self._require_open()
        return messages.encode_message(reply)

    def _require_open(self) -> None:
        if self._closing.is_set():
            raise HostLost(f"host {self.identity.name} ends everything that it has begun", self.identity.name)

    async def wait_for_silence(self) -> float:
        """Wait until the brain has not greeted for as long as it said itself; return the seconds that this took."""
        while (silent_s := anyio.current_time() - self._greeted_at) < self._patience_s:  # noqa: ASYNC110  nobody tells of a silence
            await anyio.sleep(min(self._patience_s - silent_s, _LOOK_S))
        return silent_s

    async def answer_request(self, request: messages.HostRequest[Any]) -> messages.HostReply:
        """Carry out a request, and return its reply.

        Raises:
            OrchestrateError, GitError, OSError, LookupError, ValueError: it cannot be done.
        """
        match request:
            case messages.Greet(patience_s=patience_s):
                known, self._greeted_at = self.identity, anyio.current_time()
                self._patience_s = patience_s or self._patience_s
                return messages.Hello(
                    name=known.name, slots=known.slots, version=known.version, protocol=messages.PROTOCOL
                )
            case messages.Dismiss():
                self.dismissal = request
            case messages.OpenEnvironment():
                return await self._open_environment(request)
            case messages.OpenWorkspace():
                return await self._open_workspace(request)
            case calls.CloseWorkspace(workspace=name):
                if workspace := self._workspaces.pop(name, None):
                    await workspace.close()
            case calls.WorkspaceRequest(workspace=name):
                return await self._find_workspace(name).answer_request(request)
            case _:
                return await self._answer_about_content(request)
        return messages.DoneReply()

    async def close(self) -> None:
        """End every command, and close all hands."""
        with anyio.CancelScope(shield=True):
            self._closing.set()
            for closed in self._closed:
                await closed.wait()

    async def _answer_about_content(self, request: messages.HostRequest[Any]) -> messages.HostReply:
        store = self.store
        match request:
            case messages.OpenMirror(mirror=mirror, wanted=wanted):
                async with self._setup:
                    opened = await self._open_mirror(mirror)
                return messages.MirrorState(missing=await find_missing_objects(opened.repository.git, wanted))
            case messages.SendContent(upload=upload, offset=offset, content=content):
                await to_thread.run_sync(store.append_content, upload, offset, content)
            case messages.StorePack(upload=upload, mirror=key):
                await self._store_pack(self._mirrors[key], store.get_upload(upload))
            case messages.FindBorrowed(fingerprints=fingerprints):
                missing = [one for one in fingerprints if not store.get_borrowed_place(one).exists()]
                return messages.BorrowedState(missing=tuple(missing))
            case messages.StoreBorrowed(upload=upload, fingerprint=fingerprint):
                await to_thread.run_sync(store.unpack_borrowed, upload, fingerprint)
            case _:
                raise ValueError(f"a host does not answer to {request.call!r}")
        return messages.DoneReply()

    async def _open_mirror(self, mirror: messages.Mirror) -> _Mirrored:
        fields = mirror.model_dump(exclude={"key"})
        content = MirrorContent(**fields)
        repository = await open_mirror(self.store.get_mirror_place(mirror.key), content)
        self._mirrors[mirror.key] = _Mirrored(repository, content)
        await self._mirrors[mirror.key].point_refs()
        return self._mirrors[mirror.key]

    async def _store_pack(self, mirror: _Mirrored, pack: Path) -> None:
        await store_pack_file(mirror.repository, pack)
        await to_thread.run_sync(lambda: pack.unlink(missing_ok=True))
        await mirror.point_refs()

    async def _open_environment(self, request: messages.OpenEnvironment) -> messages.EnvironmentState:
        async with self._setup:
            if request.key not in self._environments:
                await self.tasks.start(self._hold_environment, request)
        hands, _ = self._environments[request.key]
        return messages.EnvironmentState(probe=await self._run_probe(hands, request))

    async def _hold_environment(
        self, request: messages.OpenEnvironment, *, task_status: TaskStatus[None] = anyio.TASK_STATUS_IGNORED
    ) -> None:
        """Hold the hands of one environment open until the agent is closed: whoever opens them has to close them."""
        closed = anyio.Event()
        self._closed.append(closed)
        try:
            grant, mirror = self._build_grant(request), self._find_mirror(request.mirror)
            state, slots = self.store.get_hands_place(request.mirror), self.identity.slots
            async with open_local_hands(mirror, state, grant, slots, checkout=Path(request.place)) as hands:
                self._check_hands(hands)
                self._environments[request.key] = (hands, mirror)
                task_status.started()
                await self._closing.wait()
        finally:
            closed.set()

    def _check_hands(self, hands: LocalHands) -> None:
        """Refuse hands that run no commands, or whose commands could see what is private to the host."""
        if hands.refusal_reason:
            raise UsageProblem(hands.refusal_reason)
        seen = list(map(Path, (*hands.policy.read_only, *hands.policy.programs)))
        for place in self.private:
            if folder := find_visible_folder(place, seen):
                raise UsageProblem(
                    f"commands would see {folder}, and with it the key of this host in {place}: keep the "
                    "certificates elsewhere (orchestrate hosts join --certs)"
                )

    def _build_grant(self, request: messages.OpenEnvironment) -> SandboxGrant:
        """Return the brain's grant with what was sent in place of what its checkout has.

        Raises:
            UsageProblem: it has no sandbox, or names a program that is not on this host.
        """
        if request.grant.without_sandbox:
            raise UsageProblem(
                "the run has no sandbox, and a host runs nothing without one: leave out --unsafe-no-sandbox, or run "
                "without hosts (listen under [hosts])"
            )
        for program in request.grant.programs:
            if not Path(program).is_file():
                raise UsageProblem(f"{program}, which commands of the run use, is not there: install it at that path")
        lent: Mapping[str, str] = {
            name: str(self.store.get_borrowed_place(fingerprint)) for name, fingerprint in request.borrowed.items()
        }
        return request.grant.model_copy(update={"share": (), "lent": dict(lent)})

    async def _run_probe(self, hands: LocalHands, request: messages.OpenEnvironment) -> str:
        mirror = self._mirrors[request.mirror]
        workspace = await hands.open_workspace(CommitId(mirror.content.head), Purpose("probe of the host"))
        try:
            return (await run_and_read(workspace, ShellCommand(line=request.probe)))[1]
        finally:
            await workspace.close()

    async def _open_workspace(self, request: messages.OpenWorkspace) -> messages.OpenedWorkspace:
        hands, mirror = self._environments[request.environment]
        workspace = await hands.open_workspace(request.commit, Purpose(request.purpose))
        name = token_hex(8)
        self._workspaces[name] = HostWorkspace(workspace, mirror, request.commit)
        return messages.OpenedWorkspace(workspace=name, name=workspace.name, takes_turns=workspace.takes_turns)

    def _find_workspace(self, name: str) -> HostWorkspace:
        if name not in self._workspaces:
            raise UsageProblem(f"the host has no workspace {name!r} any more")
        return self._workspaces[name]

    def _find_mirror(self, key: str) -> GitRepository:
        return self._mirrors[key].repository
