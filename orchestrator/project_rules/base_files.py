"""Files of a run's base as texts: one link is followed, and what cannot be read is said in words."""

import posixpath
from dataclasses import dataclass

from orchestrator.judge.source.reviewer_addresses import escape_hidden_text
from orchestrator.project_rules.import_syntax import resolve_import
from worktrees.git import Git
from worktrees.object_store.trees import TreeEntry, list_tree, read_blobs
from worktrees.safety.path_rules import escape_path

_LINK_MODE = "120000"
_MAX_BYTES = 1_000_000
_MAX_LINK_BYTES = 4_096
_BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True)
class BaseFile:
    """A file of the base: `path` is where its content lies, after a link. `problem` says why there is no text.

    Characters that a reader of the file does not see are spelt out: nobody could have approved of what they say.
    """

    path: str
    text: str = ""
    problem: str = ""
    is_missing: bool = False


class BaseFileReader:
    """Reads files of one commit, each once. Nothing here looks into a worktree."""

    def __init__(self, git: Git, commit: str) -> None:
        self._git = git
        self._commit = commit
        self._files: dict[str, BaseFile] = {}

    async def read_file(self, path: str) -> BaseFile:
        """Return the file at a path, or at the place in the repository that a link there points to."""
        known = self._files.get(path)
        if known is None:
            known = self._files[path] = await self._load_file(path)
        return known

    async def _load_file(self, path: str) -> BaseFile:
        entry = await self._find_entry(path)
        if entry is None:
            return BaseFile(path, problem="is no file of the repository at the run's base", is_missing=True)
        if entry.mode != _LINK_MODE:
            return await self._load_content(entry)
        target = await self._read_link(entry)
        inside = resolve_import(path, target)
        if inside is None:
            return BaseFile(path, problem="is a link that leads out of the repository")
        found = await self._find_entry(inside)
        shown = escape_path(inside)
        if found is None:
            return BaseFile(path, problem=f"is a link to {shown}, which is no file of the repository")
        if found.mode == _LINK_MODE:
            return BaseFile(path, problem=f"is a link to {shown}, which is a link again")
        return await self._load_content(found)

    async def _find_entry(self, path: str) -> TreeEntry | None:
        for entry in await list_tree(self._git, self._commit, (path,)):
            if entry.path == path and entry.kind == "blob":
                return entry
        return None

    async def _read_link(self, entry: TreeEntry) -> str:
        if (entry.size or 0) > _MAX_LINK_BYTES:
            return "/"
        content = (await read_blobs(self._git, (entry.oid,)))[entry.oid]
        return content.decode("utf-8", "surrogateescape")

    async def _load_content(self, entry: TreeEntry) -> BaseFile:
        if (entry.size or 0) > _MAX_BYTES:
            return BaseFile(entry.path, problem=f"is larger than {_MAX_BYTES:,} bytes")
        content = (await read_blobs(self._git, (entry.oid,)))[entry.oid]
        if b"\0" in content:
            return BaseFile(entry.path, problem="is no text")
        try:
            text = content.decode("utf-8")
        except UnicodeDecodeError:
            return BaseFile(entry.path, problem="is not UTF-8")
        text = text.removeprefix(_BYTE_ORDER_MARK).replace("\r\n", "\n")
        return BaseFile(entry.path, text=escape_hidden_text(text.strip("\n").rstrip()))


def get_directory(path: str) -> str:
    """Return the directory of a path, empty for the top."""
    return posixpath.dirname(path)
