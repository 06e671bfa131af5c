"""Examines what an archive of borrowed things holds: links may lead anywhere, but nothing is written through one."""

import os
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from tarfile import TarFile, TarInfo

from orchestrator.errors import EnvironmentProblem

_MODES = 0o755


def list_checked_members(archive: TarFile) -> list[TarInfo]:
    """Return the members as they are to be unpacked; none of them is, if one is not allowed.

    Raises:
        EnvironmentProblem: see `MemberCheck.check_member`.
    """
    check = MemberCheck()
    return [check.check_member(member) for member in archive]


@dataclass
class MemberCheck:
    """Lets the members of one archive pass, in their order. `_links` are the symbolic links among those that passed."""

    _links: set[PurePosixPath] = field(default_factory=set)

    def check_member(self, member: TarInfo) -> TarInfo:
        """Make a member our own, without set-id bits, for nobody else to write; return it.

        The member itself is changed, as a hard link may have tarfile unpack its target once more.

        Raises:
            EnvironmentProblem: it would lie, or be written, outside of the archive's directory; or is no file, link or
                directory.
        """
        place = self._locate(member.name)
        if member.issym():
            self._links.add(place)
        elif member.islnk():
            self._locate(member.linkname)
        elif not member.isreg() and not member.isdir():
            raise EnvironmentProblem(f"{member.name!r} in what a workspace borrows is no file, link or directory")
        member.mode &= _MODES
        member.uid, member.gid = os.geteuid(), os.getegid()
        member.uname = member.gname = ""
        return member

    def _locate(self, name: str) -> PurePosixPath:
        """Return where a member lies, once nothing on its way is a link."""
        place = PurePosixPath(name)
        is_outside = place.is_absolute() or not place.parts or ".." in place.parts
        if is_outside or not self._links.isdisjoint((place, *place.parents)):
            raise EnvironmentProblem(f"{name!r} in what a workspace borrows would lie outside of the directory for it")
        return place
