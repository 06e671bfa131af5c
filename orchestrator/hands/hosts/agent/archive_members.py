"""Examines what an archive of borrowed things holds: links may lead anywhere, but nothing is written through one."""

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from tarfile import TarInfo

from orchestrator.errors import EnvironmentProblem

_MODES = 0o755


@dataclass
class MemberFilter:
    """Lets the members of one archive pass, in their order. `_links` are the symbolic links among those that passed."""

    _links: set[PurePosixPath] = field(default_factory=set)

    def check_member(self, member: TarInfo, _: str) -> TarInfo:
        """Return a member as it is to be unpacked: our own, without set-id bits, for nobody else to write.

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
        mode = member.mode & _MODES
        return member.replace(mode=mode, uid=None, gid=None, uname=None, gname=None, deep=False)  # type: ignore[arg-type]  # None: as whoever unpacks it

    def _locate(self, name: str) -> PurePosixPath:
        """Return where a member lies, once nothing on its way is a link."""
        place = PurePosixPath(name)
        is_outside = place.is_absolute() or not place.parts or ".." in place.parts
        if is_outside or not self._links.isdisjoint((place, *place.parents)):
            raise EnvironmentProblem(f"{name!r} in what a workspace borrows would lie outside of the directory for it")
        return place
