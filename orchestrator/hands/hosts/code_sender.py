"""Sends a repository to hosts: as git packs, in parts, and of each only what the host lacks."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory

import anyio
from anyio import to_thread

from orchestrator.hands.hosts import messages
from orchestrator.hands.hosts.links import HostLink, ask_host
from worktrees.object_store.packs import write_pack
from worktrees.repositories.mirror import MirrorContent, read_mirror_content
from worktrees.repositories.repository import GitRepository

_REMEMBERED = 32
"""The commits that a pack leaves out because the host has them are so many of the latest."""


async def send_file(link: HostLink, file: Path) -> str:
    """Send a file in parts; return the name that the host knows it by.

    Raises:
        HostLost, EnvironmentProblem: it did not arrive.
    """
    upload, offset = token_hex(16), 0
    while True:
        content = await to_thread.run_sync(_read_part, file, offset)
        if offset and not content:
            return upload
        await ask_host(link, messages.SendContent(upload=upload, offset=offset, content=content))
        offset += len(content)
        if not content:
            return upload


def _read_part(file: Path, offset: int) -> bytes:
    with file.open("rb") as opened:
        opened.seek(offset)
        return opened.read(messages.CHUNK_BYTES)


@dataclass
class CodeSender:
    """Keeps the copy of a repository on one host up to date. `place` is a directory for files under way."""

    link: HostLink
    repository: GitRepository
    key: str
    place: Path
    _known: dict[str, None] = field(default_factory=dict)
    _turn: anyio.Lock = field(default_factory=anyio.Lock)

    def has_objects(self, oid: str) -> bool:
        """Return True if the host certainly has what an object reaches."""
        return oid in self._known

    async def open_mirror(self, commits: Sequence[str]) -> None:
        """Have the host copy the repository: its tags, and what these commits reach.

        Raises:
            HostLost, EnvironmentProblem, GitError: it could not be done.
        """
        content = await read_mirror_content(self.repository)
        wanted = tuple(dict.fromkeys((*commits, content.head, *content.tags.values())))
        opening = messages.OpenMirror(mirror=_build_mirror(self.key, content), wanted=wanted)
        async with self._turn:
            missing = (await ask_host(self.link, opening)).missing
            self._remember(oid for oid in wanted if oid not in missing)
            if missing:
                await self._send_pack(missing)

    async def send_objects(self, *oids: str) -> None:
        """Make sure that the host has what these commits or trees reach.

        Raises:
            HostLost, EnvironmentProblem, GitError: it could not be done.
        """
        wanted = tuple(oid for oid in oids if oid not in self._known)
        if not wanted:
            return
        async with self._turn:
            wanted = tuple(oid for oid in wanted if oid not in self._known)
            if wanted:
                await self._send_pack(wanted)

    def remember_object(self, oid: str) -> None:
        """Keep in mind that the host has what an object reaches, because it made it."""
        self._remember([oid])

    async def _send_pack(self, wanted: Sequence[str]) -> None:
        without = list(self._known)[-_REMEMBERED:]
        with TemporaryDirectory(prefix="to-host-", dir=self.place) as place:
            pack = await write_pack(self.repository.git, wanted, without, Path(place) / "code")
            upload = await send_file(self.link, pack)
        await ask_host(self.link, messages.StorePack(upload=upload, mirror=self.key))
        self._remember(wanted)

    def _remember(self, oids: Iterable[str]) -> None:
        for oid in oids:
            self._known.pop(oid, None)
            self._known[oid] = None


def _build_mirror(key: str, content: MirrorContent) -> messages.Mirror:
    return messages.Mirror(
        key=key,
        hash_name=content.hash_name,
        head=content.head,
        settings=dict(content.settings),
        files=dict(content.files),
        tags=dict(content.tags),
    )
