"""Writing some files of a worktree as its index has them: by ourselves where git would write the blobs as they are.

Then the cost is that of these files; git looks at the whole index. Nothing that lies in the worktree is asked.
"""

import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from anyio import to_thread

from worktrees.checkouts.path_restore import chown_paths, group_by_folder, open_folders
from worktrees.checkouts.plain_index import EXECUTABLE_MODE, LINK_MODE, IndexEntry, PlainIndex, load_index
from worktrees.checkouts.tree_layout import TreeLayout
from worktrees.git import Git
from worktrees.object_store.batch_reader import parse_objects
from worktrees.records import encode_lines, encode_records
from worktrees.safety.removal import remove_entry

_ATTRIBUTES = ".gitattributes"
_MOST_BYTES = 64 * 1024 * 1024
"""More content than this is left to git, which does not keep it in memory."""
_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class FileWriter:
    """Writes files of one worktree, whose git directory is `admin`, and gives them to their owner.

    With `is_idle` nothing else can be writing meanwhile: a file is what git made of it until somebody has looked.
    """

    git: Git
    admin: Path
    root: Path
    owner: int | None
    oid_bytes: int
    is_idle: bool

    async def write_files(self, paths: Collection[str], layout: TreeLayout) -> bool:
        """Write files as the index has them, whatever lies in their place, which must be no directory.

        Returns:
            False if the index does not know of them yet, and has to be refreshed.

        Raises:
            GitError: git could not do it.
            OSError: a file could not be written.
        """
        if not paths:
            return True
        index = await to_thread.run_sync(load_index, self.admin / "index", self.oid_bytes)
        entries = index.find_entries(paths) if index else None
        contents = None
        if entries is not None and not self._may_convert(layout):
            contents = await self._read_contents(entries)
        if contents is None:
            await self.git.run("checkout-index", "--force", "-z", "--stdin", stdin=encode_records(sorted(paths)))
        return await to_thread.run_sync(self._finish_files, paths, index, entries, contents)

    def record_stats(self, paths: Collection[str]) -> bool:
        """Have the index know of files that git has just written or found as they should be; blocks.

        Returns:
            False if it has to be refreshed instead.

        Raises:
            OSError: it cannot be written.
        """
        index = load_index(self.admin / "index", self.oid_bytes)
        entries = index.find_entries(paths) if index else None
        return self._finish_stats(index, paths, self._read_stats(entries or {}))

    def _finish_stats(
        self, index: PlainIndex | None, paths: Collection[str], stats: Mapping[int, os.stat_result]
    ) -> bool:
        if index is None or len(stats) != len(paths):
            return False
        index.write_stats(stats)
        return True

    def _may_convert(self, layout: TreeLayout) -> bool:
        """Return True if attributes may have contents converted; our settings ask for no conversion."""
        if os.path.lexists(self.git.git_dir / "info" / "attributes"):
            return True
        return any(_ATTRIBUTES in names.files for names in layout.values())

    async def _read_contents(self, entries: Mapping[str, IndexEntry]) -> Mapping[str, bytes] | None:
        """Return the content of each object; None if it is too much."""
        oids = sorted({entry.oid for entry in entries.values()})
        git = replace(self.git, work_tree=None, index=None)
        answer = await git.run("cat-file", "--batch", "--buffer", stdin=encode_lines(oids), limit_bytes=_MOST_BYTES)
        if answer.is_cut:
            return None
        contents = {}
        for found in parse_objects(answer.stdout, list(map(str.encode, oids))):
            if found is None or found.kind != "blob":
                return None  # git says what is wrong with it
            contents[found.oid] = found.content
        return contents

    def _finish_files(
        self,
        paths: Collection[str],
        index: PlainIndex | None,
        entries: Mapping[str, IndexEntry] | None,
        contents: Mapping[str, bytes] | None,
    ) -> bool:
        if entries is not None and contents is not None:
            stats = self._put_files(entries, contents)
        else:
            if self.owner is not None:
                chown_paths(self.root, paths, self.owner)
            stats = self._read_stats(entries or {})
        return self._finish_stats(index, paths, stats)

    def _read_stats(self, entries: Mapping[str, IndexEntry]) -> dict[int, os.stat_result]:
        """Return what the system says of files that git wrote; nothing where only their contents tell."""
        stats: dict[int, os.stat_result] = {}
        if not self.is_idle:
            return stats
        with suppress(OSError):  # git has left one out, of which it will speak when the index is refreshed
            for path, entry in entries.items():
                stats[entry.start] = os.lstat(f"{self.root}/{path}")
        return stats

    def _put_files(self, entries: Mapping[str, IndexEntry], contents: Mapping[str, bytes]) -> dict[int, os.stat_result]:
        """Write the contents; return what the system says of each file, by the start of its entry."""
        stats = {}
        grouped = group_by_folder(entries)
        for folder, directory in open_folders(self.root, grouped, makes_missing=True, owner=self.owner):
            for name in grouped[folder]:
                entry = entries[f"{folder}/{name}".lstrip("/")]
                stats[entry.start] = self._put_file(directory, name, entry.mode, contents[entry.oid])
        return stats

    def _put_file(self, directory: int, name: str, mode: int, content: bytes) -> os.stat_result:
        remove_entry(directory, name)
        if mode == LINK_MODE:
            os.symlink(content, os.fsencode(name), dir_fd=directory)
            if self.owner is not None:
                os.chown(name, self.owner, -1, dir_fd=directory, follow_symlinks=False)
            return os.stat(name, dir_fd=directory, follow_symlinks=False)
        permissions = 0o777 if mode == EXECUTABLE_MODE else 0o666
        with os.fdopen(os.open(name, _CREATE, permissions, dir_fd=directory), "wb") as file:
            file.write(content)
            file.flush()
            if self.owner is not None:
                os.fchown(file.fileno(), self.owner, -1)
            return os.fstat(file.fileno())
