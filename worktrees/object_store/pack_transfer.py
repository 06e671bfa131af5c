"""Objects on their way between two repositories of ours, as packs that somebody else carries."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from anyio import to_thread

from worktrees.git import Git
from worktrees.object_store.packs import QuarantinedPack, find_existing_objects
from worktrees.records import encode_lines
from worktrees.repositories.repository import GitRepository

_LOOSE_BYTES = 1024 * 1024
"""The objects of a smaller pack are stored one by one: a repository with a pack for each snapshot would be slow."""


async def pack_objects(git: Git, wanted: Sequence[str], without: Sequence[str]) -> bytes:
    """Return a pack of what `wanted` (objects of any type) reach and `without` (commits or trees) do not.

    Raises:
        GitError: an object is missing.
    """
    revisions = encode_lines((*wanted, *map("^{}".format, without)))
    options = ("-c", "pack.packSizeLimit=0", "pack-objects", "--revs", "--sparse", "--stdout", "--quiet")
    return (await git.run(*options, stdin=revisions)).stdout


async def find_missing_objects(git: Git, oids: Sequence[str]) -> tuple[str, ...]:
    """Return those of the ids that are no objects of the repository, in their order."""
    found = await find_existing_objects(git, oids)
    return tuple(oid for oid in dict.fromkeys(oids) if oid not in found)


async def store_pack(repository: GitRepository, pack: bytes) -> None:
    """Store the objects of a small pack, once their content and their links were examined.

    Raises:
        GitError: an object is damaged, or of a kind that git refuses to take in.
    """
    await repository.git.run("unpack-objects", "--strict", "-q", stdin=pack)


async def store_pack_file(repository: GitRepository, pack: Path) -> None:
    """Store the objects of a pack file, once they were examined. A large file is moved, and gone afterwards.

    Raises:
        GitError: an object is damaged, or of a kind that git refuses to take in.
    """
    content = await to_thread.run_sync(_read_small_file, pack)
    if content is not None:
        await store_pack(repository, content)
        return
    with TemporaryDirectory(prefix="pack-", dir=pack.parent) as place:
        examined = await QuarantinedPack.examine_pack(repository, pack, Path(place))
        await examined.release_objects()


def _read_small_file(file: Path) -> bytes | None:
    return file.read_bytes() if file.stat().st_size < _LOOSE_BYTES else None
