"""The directories through which commands hand back files; one that is left untouched serves the next command."""

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from anyio import to_thread

from orchestrator.errors import ToolRefused
from orchestrator.hands.files import workspace_files
from orchestrator.hands.files.directory_trees import create_private_folder, remove_tree

MAX_FILES_BYTES = 64 * 1024 * 1024
"""Most that one command may hand back in `ShellCommand.files`, together."""


class ExchangeFolders:
    """Directories below `root` that belong to `owner`, each for one command at a time.

    Most commands hand back nothing. To look whether a directory is still as it was takes less time than to remove it
    and to make another one, and less than the way to a thread.
    """

    def __init__(self, root: Path, owner: int | None) -> None:
        self._root = root
        self._owner = owner
        self._untouched: list[Path] = []
        self._made = 0

    async def take_folder(self) -> Path:
        """Return an empty directory that only its owner may enter, for one command.

        Raises:
            OSError: it cannot be made.
        """
        if self._untouched:
            return self._untouched.pop()
        self._made += 1
        return await to_thread.run_sync(_make_folder, self._root / str(self._made), self._owner)

    async def collect_files(self, folder: Path, wanted: Mapping[str, str]) -> dict[str, bytes]:
        """Return the files `wanted` of a command that has ended, and take the directory back.

        Raises:
            OSError: something in it may not be removed.
        """
        if self._is_untouched(folder):
            self._untouched.append(folder)
            return {}
        return await to_thread.run_sync(_read_and_remove, folder, wanted)

    def _is_untouched(self, folder: Path) -> bool:
        owner = os.geteuid() if self._owner is None else self._owner
        with suppress(OSError):
            found = folder.lstat()
            is_ours = found.st_mode == stat.S_IFDIR | 0o700 and found.st_uid == owner
            return is_ours and next(folder.iterdir(), None) is None
        return False


def _make_folder(folder: Path, owner: int | None) -> Path:
    """Make a directory; those above it let its owner through, who is another user and may be in no sandbox."""
    folder.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    return create_private_folder(folder, owner)


def _read_and_remove(folder: Path, wanted: Mapping[str, str]) -> dict[str, bytes]:
    contents: dict[str, bytes] = {}
    for variable, name in wanted.items():
        limit_bytes = MAX_FILES_BYTES - sum(map(len, contents.values()))
        try:
            contents[variable] = workspace_files.read_file(folder, name, limit_bytes)
        except ToolRefused:
            continue  # not written, or nothing that could be taken
    remove_tree(folder)
    return contents
