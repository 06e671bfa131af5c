"""Objects in a file of their own: written for another repository, examined apart, taken in only when they are sound."""

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread

from worktrees.durable_files import copy_durably
from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.object_store.object_ids import is_object_id
from worktrees.records import encode_lines
from worktrees.repositories.repository import GitRepository


async def read_object_format(git: Git) -> str:
    """Return the name of the hash function, `sha1` or `sha256`."""
    return await git.run_text("rev-parse", "--show-object-format")


async def find_existing_objects(git: Git, oids: Iterable[str]) -> dict[str, str]:
    """Return those of the ids that are objects of the repository, with their types.

    Types are `commit`, `tree`, `blob` and `tag`.
    """
    wanted = list(filter(is_object_id, oids))
    if not wanted:
        return {}
    found = {}
    form = "--batch-check=%(objecttype) %(objectname)"
    for line in (await git.run_text("cat-file", form, "--buffer", stdin=encode_lines(wanted))).splitlines():
        kind, oid = line.split(" ")
        if oid != "missing":
            found[oid] = kind
    return found


async def find_prerequisites(git: Git, base: str) -> tuple[str, ...]:
    """Return the commits that another clone can be expected to have.

    That is `base`, or what of it is on remotes if it is not there itself.

    Empty when the remotes have nothing of it at all. Without remotes it is `base`.
    """
    if not await git.run_text("for-each-ref", "--count=1", "refs/remotes"):
        return (base,)
    listing = (await git.run_text("rev-list", "--boundary", base, "--not", "--remotes")).splitlines()
    if not listing:
        return (base,)
    known = []
    for line in listing:
        if line.startswith("-"):
            known.append(line[1:])
    return tuple(known)


async def write_pack(
    git: Git, wanted: Sequence[str], without: Sequence[str], stem: Path, env: Mapping[str, str] | None = None
) -> Path:
    """Write what `wanted` (objects of any type) reach and `without` (commits) do not; gives `<stem>-<checksum>.pack`.

    `env` are variables for git, which say for example where its objects are.

    Raises:
        GitError: an object is missing, as history is in a shallow clone.
    """
    options = ("-c", "pack.packSizeLimit=0", "pack-objects", "--revs", "--quiet", str(stem))
    checksum = await git.run_text(*options, stdin=_encode_revisions(wanted, without), env=env)
    return stem.with_name(f"{stem.name}-{checksum}.pack")


@dataclass(frozen=True)
class QuarantinedPack:
    """A pack that came from elsewhere, beside a repository that does not see it. `git` sees both."""

    repository: GitRepository
    git: Git
    pack: Path

    @classmethod
    async def examine_pack(cls, repository: GitRepository, pack: Path, place: Path) -> "QuarantinedPack":
        """Examine every object of the pack file; `place` is an empty directory, and the pack is moved into it.

        Raises:
            GitError: an object is damaged or of a kind that git refuses to take in.
        """
        git = Git(place)
        await git.run("init", "--quiet", "--bare", f"--object-format={await read_object_format(repository.git)}")
        await to_thread.run_sync(_add_alternate, repository.common_dir, place)
        kept = place / "objects" / "pack" / "pack-new.pack"
        await to_thread.run_sync(shutil.move, pack, kept)
        checksum = (await git.run_text("index-pack", "--strict", str(kept))).split()[-1]
        named = kept.with_name(f"pack-{checksum}.pack")
        for suffix in (".pack", ".idx"):
            kept.with_suffix(suffix).rename(named.with_suffix(suffix))
        return cls(repository, git, named)

    async def check_complete(self, wanted: Sequence[str], known: Sequence[str]) -> None:
        """Make sure that all that `wanted` reach is here or in the repository, which has `known` with all they reach.

        Raises:
            GitError: something is missing.
        """
        revisions = _encode_revisions(wanted, known)
        await self.git.run("rev-list", "--objects", "--quiet", "--stdin", stdin=revisions)

    async def release_objects(self) -> None:
        """Give the objects to the repository. Once is enough, twice no error."""
        await to_thread.run_sync(_install_pack, self.pack, self.repository.common_dir / "objects" / "pack")


def _encode_revisions(wanted: Sequence[str], without: Sequence[str]) -> bytes:
    return encode_lines((*wanted, *map("^{}".format, without)))


def _add_alternate(common_dir: Path, place: Path) -> None:
    alternates = place / "objects" / "info" / "alternates"
    alternates.parent.mkdir(parents=True, exist_ok=True)
    alternates.write_bytes(quote_alternate(common_dir / "objects") + b"\n")
    if (common_dir / "shallow").is_file():
        shutil.copyfile(common_dir / "shallow", place / "shallow")


def quote_alternate(path: Path) -> bytes:
    """Quote a path among alternates: in git's own C-like quoting any path can be written."""
    content = os.fsencode(path).replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"' + content + b'"'


def _install_pack(pack: Path, place: Path) -> None:
    with pack.open("rb") as file:
        if file.read(12)[8:] == bytes(4):  # a pack of no objects
            return
    place.mkdir(exist_ok=True)
    for suffix in (".pack", ".idx"):  # git looks for packs by their index, which comes last
        target = place / f"{pack.stem}{suffix}"
        if target.exists():
            continue
        try:
            copy_durably(pack.with_suffix(suffix), target, mode=0o444, draft_prefix=f"tmp_{suffix[1:]}_")
        except OSError as error:
            raise GitError(f"objects cannot be written to {place}: {error.strerror}") from error
