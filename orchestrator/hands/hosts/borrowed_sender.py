"""Sends hosts what workspaces borrow of the checkout: environments and packages, each as an archive and only once."""

import hashlib
import os
import stat
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from anyio import to_thread

from orchestrator.hands.hosts import messages
from orchestrator.hands.hosts.code_sender import send_file
from orchestrator.hands.hosts.links import HostLink, ask_host


@dataclass(frozen=True)
class BorrowedContent:
    """Names of things in the checkout that workspaces borrow, each with the directory below which it lies.

    Files that are `masked` are never sent: they were compiled from the project's own sources.
    """

    shared: Mapping[str, Path]
    masked: frozenset[str] = frozenset()

    def compute_fingerprints(self) -> dict[str, str]:
        """Return by name a hash of each thing's files: their names, sizes, times and modes. Blocks."""
        found = {}
        for name, base in self.shared.items():
            digest = hashlib.sha256(f"{name}\0".encode("utf-8", "surrogateescape"))
            for path, status in self._iterate_files(base, name):
                words = f"{path}\0{status.st_mode:o} {status.st_size} {status.st_mtime_ns}\0"
                digest.update(words.encode("utf-8", "surrogateescape"))
            found[name] = digest.hexdigest()
        return found

    def write_archive(self, name: str, file: Path) -> None:
        """Write one thing as an archive. Blocks.

        Raises:
            OSError: it cannot be read or written.
        """
        base = self.shared[name]
        with tarfile.open(file, "w") as archive:
            for path, _ in self._iterate_files(base, name):
                archive.add(base / path, arcname=path, recursive=False)

    def _iterate_files(self, base: Path, name: str) -> Iterator[tuple[str, os.stat_result]]:
        """Yield what is to be sent in an order that is always the same; sockets and pipes are left out."""
        waiting = [name]
        while waiting:
            path = waiting.pop()
            status = (base / path).lstat()
            if str(base / path) in self.masked:
                continue
            if stat.S_ISDIR(status.st_mode):
                entries = sorted((entry.name for entry in (base / path).iterdir()), reverse=True)
                waiting.extend(f"{path}/{entry}" for entry in entries)
            elif not stat.S_ISREG(status.st_mode) and not stat.S_ISLNK(status.st_mode):
                continue
            yield path, status

    async def send_missing(self, link: HostLink, place: Path) -> dict[str, str]:
        """Send a host what it lacks; return all fingerprints by name. `place` is a directory for files under way.

        Raises:
            HostLost, EnvironmentProblem, OSError: it could not be done.
        """
        fingerprints = await to_thread.run_sync(self.compute_fingerprints)
        asked = messages.FindBorrowed(fingerprints=tuple(fingerprints.values()))
        missing = frozenset((await ask_host(link, asked)).missing)
        for name, fingerprint in fingerprints.items():
            if fingerprint in missing:
                await self._send_one(link, name, fingerprint, place)
        return fingerprints

    async def _send_one(self, link: HostLink, name: str, fingerprint: str, place: Path) -> None:
        with TemporaryDirectory(prefix="to-host-", dir=place) as folder:
            archive = Path(folder) / "borrowed.tar"
            await to_thread.run_sync(self.write_archive, name, archive)
            upload = await send_file(link, archive)
        await ask_host(link, messages.StoreBorrowed(upload=upload, fingerprint=fingerprint))
