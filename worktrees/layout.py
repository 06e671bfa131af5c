"""What belongs where in a worktree: the names that each directory of a tree holds."""

from collections.abc import Mapping
from typing import NamedTuple

from worktrees.git import Git

_KEPT = 4


class Names(NamedTuple):
    """The entries of one directory; a submodule counts as a directory that holds nothing."""

    directories: frozenset[str]
    files: frozenset[str]

    @property
    def is_submodule(self) -> bool:
        """Whether this is where a submodule would be, as git trees have no other empty directories."""
        return not (self.directories or self.files)


Layout = Mapping[str, Names]
"""Each directory of a tree, by its path, the root being the empty one. Undecodable bytes are lone surrogates."""


class Layouts:
    """The layouts of the trees used last; most worktrees of a run hold one of few trees."""

    def __init__(self) -> None:
        self._kept: dict[str, Layout] = {}

    async def of(self, git: Git, tree: str) -> Layout:
        """The layout of a tree, read once.

        Raises:
            GitError: there is no such tree.
        """
        layout = self._kept.pop(tree, None)
        if layout is None:
            layout = _parse((await git.run("ls-tree", "-r", "-t", "-z", "--full-tree", tree)).text)
        self._kept[tree] = layout
        while len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]
        return layout


def _parse(listing: str) -> Layout:
    directories: dict[str, set[str]] = {"": set()}
    files: dict[str, set[str]] = {"": set()}
    for record in listing.split("\0"):
        meta, _, path = record.partition("\t")
        if not path:
            continue
        parent, _, name = path.rpartition("/")
        if meta.startswith(("040000", "160000")):
            directories[parent].add(name)
            directories[path], files[path] = set(), set()
        else:
            files[parent].add(name)
    return {place: Names(frozenset(directories[place]), frozenset(files[place])) for place in directories}
