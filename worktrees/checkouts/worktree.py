"""One leased worktree. Its git directory is named from outside; nothing inside is asked what it is."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from operator import methodcaller
from pathlib import Path

from anyio import fail_after, to_thread

from worktrees.checkouts import tree_checkout
from worktrees.checkouts.cleanup import chown_top_directory, chown_tree, remove_misfits
from worktrees.checkouts.tree_layout import LayoutCache, TreeLayout, VerifiedDirectories
from worktrees.diffs.tree_changes import TreeChange, compare_trees
from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.records import split_records
from worktrees.safety.removal import remove_below, remove_empty_directories

_LONG_DELTA = 5000
_GREP_TIMEOUT_S = 60.0
_GREP_LINE = 1000
_GREP_BYTES = 16 * 1024 * 1024
_HIT = re.compile(rb"([^\0]+)\0(\d+)[\0:](.*)", re.DOTALL)
_GLOB_ENVIRONMENT = {"GIT_LITERAL_PATHSPECS": "0"}
_UNTRACKED = ("--others", "--exclude-standard")


@dataclass
class Worktree:
    """A checkout of `commit` at `root`, whose registration with the repository lies in `admin`, outside of it.

    `git` works on its files with the admin directory's index. `owner` is the user its files belong to, None for us.
    """

    name: str
    root: Path
    admin: Path
    commit: str
    git: Git
    owner: int | None = None
    layouts: LayoutCache = field(default_factory=LayoutCache, repr=False)
    verified_directories: VerifiedDirectories = field(default_factory=VerifiedDirectories, repr=False)

    async def restore_tree(self, tree: str, *, keeps_ignored: bool = True) -> None:
        """Make content and index equal to `tree`: untracked files go, those that its rules ignore if not kept.

        Raises:
            GitError: there is no such tree, or something cannot be removed or written.
        """
        known = tree_checkout.read_index_tree(self.admin, self.owner)
        if known is None:
            self.verified_directories.forget_all()
        delta = await self._compare_with(known, tree)
        if delta:
            layout = await self.layouts.load_layout(self.git, tree, known, delta)
        else:
            layout = await self.layouts.load_layout(self.git, tree)
        gone = []
        for change in delta or ():
            if change.new_mode is None and change.path not in layout:
                gone.append(change.path)
        try:
            await to_thread.run_sync(
                lambda: remove_misfits(self.root, layout, self.verified_directories, keeps_strangers=keeps_ignored)
            )
            await to_thread.run_sync(remove_below, self.root, gone)
            has_written = await tree_checkout.check_out_tree(self.git, self.admin, tree, delta)
            if keeps_ignored:
                await self._remove_untracked()
            if self.owner is not None:
                await self._give_to_owner(layout if has_written else None, self.owner)
        except OSError as error:
            raise GitError(f"the worktree {self.root} cannot be cleaned: {error}; remove it and try again") from error
        tree_checkout.record_index_tree(self.admin, tree, self.owner)

    async def _remove_untracked(self) -> None:
        """Remove what is neither tracked nor ignored, and directories with nothing in them."""
        found = split_records((await tree_checkout.list_index_files(self.git, *_UNTRACKED, "--directory")).text)
        directories = list(filter(methodcaller("endswith", "/"), found))
        if not directories:
            await to_thread.run_sync(remove_below, self.root, found)
            return
        for _ in range(2):  # again, because some directories could not be looked into before
            found = split_records((await tree_checkout.list_index_files(self.git, *_UNTRACKED)).text)
            await to_thread.run_sync(remove_below, self.root, found)
            if not await to_thread.run_sync(remove_empty_directories, self.root, directories):
                return

    async def _compare_with(self, known: str | None, tree: str) -> Sequence[TreeChange] | None:
        """Return what has to change to get to `tree`.

        None if it is unknown, or so much that git knows a shorter way.
        """
        if known is None:
            return None
        if known == tree:
            return ()
        delta = await compare_trees(self.git, known, tree)
        if len(delta) <= _LONG_DELTA:
            return delta
        return None

    async def _give_to_owner(self, layout: TreeLayout | None, owner: int) -> None:
        """Return hand what git wrote to the owner; without a layout it wrote nothing."""
        chown_top_directory(self.root, owner)
        if layout is None:
            return
        has_given = await to_thread.run_sync(chown_tree, self.root, layout, self.verified_directories, owner)
        if has_given:
            await tree_checkout.refresh_index(self.git)

    async def list_paths(self, glob: str = "**") -> tuple[str, ...]:
        """Return the files, tracked and untracked but not ignored, that fit a glob, sorted.

        Raises:
            GitError: the glob leaves the worktree, or it or the ignore rules take for ever.
        """
        options = ("-t", "--cached", "--deleted", "--others", "--exclude-standard")
        listing = (
            await tree_checkout.list_index_files(
                self.git, *options, "--", *_build_pathspecs(glob), env=_GLOB_ENVIRONMENT
            )
        ).text
        tagged: dict[str, set[str]] = {"H": set(), "R": set(), "?": set()}
        for record in split_records(listing):
            tagged.setdefault(record[0], set()).add(record[2:])
        untracked = tagged["?"]
        found = set()
        for path in tagged["H"].difference(tagged["R"], *map(_list_parents, untracked)):
            if untracked.isdisjoint(_list_parents(path)):  # a link may stand where the tree has a directory
                found.add(path)
        for path in untracked:
            if not path.endswith("/"):
                found.add(path)
        return tuple(sorted(found))

    async def list_untracked(self, *, ignored: bool) -> tuple[str, ...]:
        """Return what is there and not tracked, sorted: what git ignores, or what it does not.

        A directory stands for all that is in it, where there is nothing else.

        Raises:
            GitError: the ignore rules take for ever.
        """
        options = ["--others", "--directory", "--no-empty-directory", "--exclude-standard"]
        if ignored:
            options.append("--ignored")
        listing = (await tree_checkout.list_index_files(self.git, *options)).text
        return tuple(sorted(map(methodcaller("rstrip", "/"), split_records(listing))))

    async def search_text(self, pattern: str, glob: str, limit: int) -> tuple[str, ...]:
        """Return the first `limit` matching lines of the files that fit a glob, as `path:line:text`; long ones are cut.

        Args:
            pattern: a POSIX extended regular expression.
            glob: `**` for all files.
            limit: how many lines at most.

        Raises:
            GitError: the pattern is no regular expression, or the search took too long.
        """
        options = ("-n", "-I", "-E", "-z", "--untracked", "--no-textconv", f"--max-count={limit}", "-e", pattern)
        try:
            with fail_after(_GREP_TIMEOUT_S):
                found = await self.git.run(
                    *("grep", *options, "--", *_build_pathspecs(glob)),
                    ok=(0, 1),
                    env=_GLOB_ENVIRONMENT,
                    limit_bytes=_GREP_BYTES,
                )
        except TimeoutError as error:
            raise GitError(f"searching for {pattern!r} took longer than {_GREP_TIMEOUT_S:.0f} s") from error
        hits = filter(_HIT.match, found.stdout.split(b"\n")[:limit])
        return tuple(map(_format_hit, hits))


def _build_pathspecs(glob: str) -> tuple[str, ...]:
    """Return the arguments that limit a git command to the files that fit a glob; none for all files.

    `**` stands for any number of directories, `*`, `?` and `[…]` stay within one name. A glob without a slash fits
    names in any directory; one that fits a directory stands for everything below it.

    Raises:
        GitError: the glob leaves the worktree.
    """
    parts = []
    for part in glob.split("/"):
        if part not in ("", "."):
            parts.append(part)
    if ".." in parts or "\0" in glob:
        raise GitError(f"the glob {glob!r} leaves the worktree: give one relative to its top, without ..")
    if parts in ([], ["**"], ["*"]):
        return ()
    is_name = len(parts) == 1 and not glob.startswith(("/", "./")) and not glob.endswith("/")
    pattern = "/".join(["**", *parts] if is_name else parts)
    return (f":(top,glob){pattern}", f":(top,glob){pattern.removesuffix('/**')}/**")


def _list_parents(path: str) -> Iterator[str]:
    """Yield the directories a path lies in, nearest first, without the root."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _format_hit(line: bytes) -> str:
    path, number, text = map(bytes.decode, _HIT.split(line, 1)[1:4], repeat("utf-8"), repeat("replace"))
    if len(text) > _GREP_LINE:
        text = f"{text[:_GREP_LINE]}…"
    return f"{path}:{number}:{text}"
