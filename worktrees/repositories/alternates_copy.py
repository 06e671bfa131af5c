"""A copy of the objects that a borrowing repository needs, for places where its lenders must not be seen.

`git clone --shared` and `--reference` leave objects in other directories, which the repository names itself. What it
names is for git alone to read, which takes nothing from there but objects by their id.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread

from worktrees.durable_files import write_durably
from worktrees.errors import GitError
from worktrees.locks.file_lock import hold_file_lock
from worktrees.object_store.object_ids import is_object_id
from worktrees.object_store.packs import find_existing_objects, quote_alternate, write_pack
from worktrees.records import encode_lines
from worktrees.repositories.repository import GitRepository

_MOST_PACKS = 40


@dataclass(frozen=True)
class AlternatesCopy:
    """Packs of all that some commits of the repository reach, in `objects` below the directory `place`.

    Beside it `tips` lists what is there with all that it reaches, so that only what is new is copied.
    """

    repository: GitRepository
    place: Path

    @property
    def objects_directory(self) -> Path:
        """The object directory, complete in itself."""
        return self.place / "objects"

    async def copy_reachable(self, wanted: Iterable[str]) -> None:
        """Copy what the wanted objects (by id or name) reach and the copy does not have yet.

        Raises:
            GitError: an object is missing.
            OSError: the copy cannot be written.
        """
        await to_thread.run_sync(self._lay_out)
        oids = [await self._resolve_name(name) for name in wanted]
        if set(oids) <= self._read_tips():
            return
        async with hold_file_lock(self.place / "lock"):
            tips = self._read_tips()
            new = [oid for oid in oids if oid not in tips]
            if new:
                await self._copy_packs(new, tips)

    async def _copy_packs(self, new: list[str], tips: set[str]) -> None:
        git = self.repository.git
        lender = quote_alternate(self.repository.common_dir / "objects").decode("utf-8", "surrogateescape")
        places = {"GIT_OBJECT_DIRECTORY": str(self.objects_directory), "GIT_ALTERNATE_OBJECT_DIRECTORIES": lender}
        packs = list((self.objects_directory / "pack").glob("pack-*.pack"))
        known = sorted(await find_existing_objects(git, tips))
        if len(packs) < _MOST_PACKS:
            wanted, without, replaced = new, known, []
        else:
            wanted, without, replaced = sorted({*known, *new}), [], packs
        pack = await write_pack(git, wanted, without, self.objects_directory / "pack" / "pack", env=places)
        for file in (pack, pack.with_suffix(".idx")):
            file.chmod(0o444)
        write_durably(self.place / "tips", encode_lines(sorted({*known, *new})))
        for old in replaced:
            if old != pack:
                old.with_suffix(".idx").unlink(missing_ok=True)
                old.unlink()

    async def _resolve_name(self, name: str) -> str:
        if is_object_id(name):
            return name
        return await self.repository.git.run_text("rev-parse", "--verify", "--end-of-options", name)

    def _lay_out(self) -> None:
        for folder in (self.objects_directory, self.objects_directory / "pack", self.objects_directory / "info"):
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o755)  # commands may run as another user than we

    def _read_tips(self) -> set[str]:
        try:
            return set((self.place / "tips").read_text(encoding="ascii").split())
        except FileNotFoundError:
            return set()
        except (OSError, UnicodeDecodeError) as error:
            raise GitError(f"{self.place / 'tips'} cannot be read: {error}; remove {self.place}") from error
