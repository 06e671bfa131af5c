"""A work tree that holds nothing but the attribute files of a tree: all that git reads of one to convert contents.

Git takes attributes from the files beside the path that it is asked about, or from the index. So contents can be stored
and read as a checkout of the tree would have them, without that checkout.
"""

import tempfile
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from anyio import to_thread

from worktrees.git import Git
from worktrees.object_store.trees import TreeEntry, read_entry_contents
from worktrees.safety.path_rules import find_path_objection

_NAME = ".gitattributes"


@asynccontextmanager
async def lay_out_attributes(git: Git, entries: Iterable[TreeEntry]) -> AsyncIterator[Git]:
    """Yield the same git, for which contents at a path are as in a checkout of a tree.

    No index counts beside the tree's own attribute files, but the repository's `info/attributes` does.

    Args:
        git: of the repository.
        entries: the files of the tree.

    Raises:
        GitError: an attribute file does not exist as an object.
    """
    found = list(filter(_is_attribute_file, entries))
    contents = await read_entry_contents(git, found)
    with tempfile.TemporaryDirectory(prefix="orchestrate-attributes-") as place:
        work_tree = Path(place, "tree")
        await to_thread.run_sync(_write_files, work_tree, contents)
        yield git.with_paths(work_tree, Path(place, "index"))


def _is_attribute_file(entry: TreeEntry) -> bool:
    """Return True if git reads attributes of it; it follows no link."""
    is_named = entry.path == _NAME or entry.path.endswith(f"/{_NAME}")
    return is_named and entry.mode.startswith("100") and find_path_objection(entry.path) is None


def _write_files(root: Path, contents: Mapping[str, bytes]) -> None:
    root.mkdir()
    for path, content in contents.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
