"""The head of a git bundle: which refs it carries, and which commits a repository must have to take it in.

What follows the head is a pack. `git bundle verify` and `git fetch FILE` understand the whole.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import BinaryIO

from worktrees.errors import GitError
from worktrees.object_store.object_ids import is_object_id

_LINE_BYTES = 8192
_LINES = 1_000_000


@dataclass(frozen=True)
class BundleHeader:
    """Full ref names with the objects they point at, the commits that are presupposed, `sha1` or `sha256`."""

    refs: Mapping[str, str]
    prerequisites: tuple[str, ...]
    object_format: str

    def to_bytes(self) -> bytes:
        """Return the header as it stands at the beginning of the file."""
        first = ["# v2 git bundle"] if self.object_format == "sha1" else ["# v3 git bundle", "@object-format=sha256"]
        needed = [f"-{oid} " for oid in self.prerequisites]
        lines = [*first, *needed, *(f"{oid} {ref}" for ref, oid in self.refs.items()), "", ""]
        return "\n".join(lines).encode("utf-8", "surrogateescape")


def read_bundle_header(file: BinaryIO) -> BundleHeader:
    """Read the head of an open bundle, which stands at its pack afterwards.

    Raises:
        GitError: it is no bundle of a kind that `BundleHead.dump` writes.
    """
    first = _parse_line(file)
    object_format = {"# v2 git bundle": "sha1", "# v3 git bundle": "sha256"}.get(first)
    if object_format is None or (object_format == "sha256" and _parse_line(file) != "@object-format=sha256"):
        raise GitError("this is no git bundle of a kind that is known here")
    needed: list[str] = []
    refs: dict[str, str] = {}
    for _ in range(_LINES):
        line = _parse_line(file)
        if not line:
            return BundleHeader(refs, tuple(needed), object_format)
        oid, _, name = line.removeprefix("-").partition(" ")
        if not is_object_id(oid):
            raise GitError(f"the git bundle names {oid!r}, which is no object id")
        if line.startswith("-"):
            needed.append(oid)
        else:
            refs[name] = oid
    raise GitError("the head of the git bundle does not end")


def _parse_line(file: BinaryIO) -> str:
    line = file.readline(_LINE_BYTES)
    if not line.endswith(b"\n"):
        raise GitError("the git bundle ends within its head")
    return line[:-1].decode("utf-8", "surrogateescape")
