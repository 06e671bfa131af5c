"""The directory that a host keeps: copies of repositories, what workspaces borrow, and parts of files under way."""

import shutil
import tarfile
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from orchestrator.errors import EnvironmentProblem
from orchestrator.hands.hosts.agent.archive_members import list_checked_members
from worktrees.safety.private_directory import create_private_directory


@dataclass(frozen=True)
class HostStore:
    """The places below a host's own directory `root`. All methods block."""

    root: Path

    def get_mirror_place(self, key: str) -> Path:
        """Return the directory of the copy of a repository."""
        return self.root / "mirrors" / key

    def get_hands_place(self, key: str) -> Path:
        """Return the directory in which hands on the copy of a repository keep their worktrees and logs."""
        return self.root / "work" / key

    def get_borrowed_place(self, fingerprint: str) -> Path:
        """Return the directory below which something to borrow lies under its name in the checkout."""
        return self.root / "borrowed" / fingerprint

    def remove_uploads(self) -> None:
        """Remove the parts of files that were under way when an earlier process ended."""
        shutil.rmtree(self.root / "uploads", ignore_errors=True)

    def get_upload(self, name: str) -> Path:
        """Return the file in which the parts of a file are put together."""
        return create_private_directory(self.root / "uploads") / name

    def append_content(self, name: str, offset: int, content: bytes) -> None:
        """Put the next part of a file to those before it.

        Raises:
            EnvironmentProblem: a part before it is missing.
            OSError: it cannot be written.
        """
        file = self.get_upload(name)
        if offset and (not file.exists() or file.stat().st_size != offset):
            raise EnvironmentProblem(f"part of a file is missing before byte {offset:,}; it has to be sent again")
        with file.open("ab" if offset else "wb") as opened:
            opened.write(content)

    def unpack_borrowed(self, name: str, fingerprint: str) -> None:
        """Unpack an archive under its fingerprint: as a whole, or not at all.

        Raises:
            EnvironmentProblem: a part of it would lie elsewhere.
            OSError: it cannot be written.
            tarfile.TarError: it is no archive.
        """
        place, archive = self.get_borrowed_place(fingerprint), self.get_upload(name)
        if place.exists():
            archive.unlink()
            return
        draft = create_private_directory(place.parent) / f".{fingerprint[:16]}-{token_hex(4)}"
        try:
            with tarfile.open(archive) as opened:
                members = list_checked_members(opened)
                opened.extraction_filter = _keep_member
                opened.extractall(draft, members)
            draft.replace(place)
        finally:
            shutil.rmtree(draft, ignore_errors=True)
            archive.unlink(missing_ok=True)


def _keep_member(member: tarfile.TarInfo, _: str) -> tarfile.TarInfo:
    """Keep a member as it was checked, where Python would check it by rules of its own (not before 3.11.4)."""
    return member
