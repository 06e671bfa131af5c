"""One leased worktree. Its git directory is named from outside; nothing inside is asked what it is."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import methodcaller
from pathlib import Path

from anyio import fail_after, to_thread

from worktrees.checkouts import file_search, tree_checkout
from worktrees.checkouts.change_reports import ChangeReports
from worktrees.checkouts.cleanup import chown_top_directory, chown_tree, remove_misfits
from worktrees.checkouts.file_search import GLOB_ENVIRONMENT
from worktrees.checkouts.file_writing import FileWriter
from worktrees.checkouts.path_restore import clear_paths, is_restorable
from worktrees.checkouts.tree_layout import LayoutCache, TreeLayout, VerifiedDirectories, list_files, list_paths_beside
from worktrees.diffs.tree_changes import TreeChange, compare_trees
from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.records import split_records
from worktrees.safety.removal import remove_below, remove_empty_directories

_LONG_DELTA = 5000
_GREP_TIMEOUT_S = 60.0
_GREP_BYTES = 16 * 1024 * 1024
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
    reports: ChangeReports | None = field(default=None, repr=False)

    async def restore_tree(self, tree: str, *, keeps_ignored: bool = True, is_idle: bool = False) -> None:
        """Make content and index equal to `tree`: untracked files go, those that its rules ignore if not kept.

        Args:
            tree: the id of the tree.
            keeps_ignored: leave ignored files where they are.
            is_idle: nothing can be writing to it, as before a lease. Reports on it count then, and begin anew.

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
        try:
            is_restored = False
            if delta is not None and is_idle:
                is_restored = await self._restore_reported(tree, layout, delta)
            if not is_restored:
                await self._restore_all(tree, layout, delta, keeps_ignored, is_idle)
        except OSError as error:
            raise GitError(f"the worktree {self.root} cannot be cleaned: {error}; remove it and try again") from error
        tree_checkout.record_index_tree(self.admin, tree, self.owner)

    async def _restore_all(
        self, tree: str, layout: TreeLayout, delta: Sequence[TreeChange] | None, keeps_ignored: bool, is_idle: bool
    ) -> None:
        """Make content and index equal to a tree, whatever has been done to them."""
        gone = []
        for change in delta or ():
            if change.new_mode is None and change.path not in layout:
                gone.append(change.path)
        await to_thread.run_sync(
            lambda: remove_misfits(self.root, layout, self.verified_directories, keeps_strangers=keeps_ignored)
        )
        await to_thread.run_sync(remove_below, self.root, gone)
        missing = await tree_checkout.find_files_to_write(self.git, self.admin, tree, delta)
        if missing is not None:
            await self._write_files(tree, layout, missing, is_idle)
        if keeps_ignored:
            await self._remove_untracked()
        if missing is None:
            await self._settle_all(tree, layout, is_idle)
        if self.reports is not None and is_idle:
            await to_thread.run_sync(self.reports.settle_checkout, self.root, layout, None)

    async def _restore_reported(self, tree: str, layout: TreeLayout, delta: Sequence[TreeChange]) -> bool:
        """Do the same where it is known what was changed; return False, with nothing done, where it is not."""
        if self.reports is None:
            return False
        reports = self.reports

        def clear_changed() -> set[str] | None:
            changed = reports.collect_changes(self.root)
            if changed is None or not is_restorable(layout, changed, delta):
                return None
            return clear_paths(
                self.root, layout, {*changed.names, *changed.contents, *(change.path for change in delta)}
            )

        files = await to_thread.run_sync(clear_changed)
        if files is None:
            return False
        missing = await tree_checkout.change_index(self.git, self.admin, files, delta)
        await self._write_files(tree, layout, missing, is_idle=True)
        await to_thread.run_sync(reports.settle_checkout, self.root, layout, missing)
        return True

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

    async def _settle_all(self, tree: str, layout: TreeLayout, is_idle: bool) -> None:
        """Give all files to the owner, and have the index know of that."""
        if self.owner is None:
            return
        chown_top_directory(self.root, self.owner)
        if await to_thread.run_sync(chown_tree, self.root, layout, self.verified_directories, self.owner):
            writer = self._build_writer(tree, is_idle)
            if not await to_thread.run_sync(writer.record_stats, list_files(layout)):
                await tree_checkout.refresh_index(self.git)

    def _build_writer(self, tree: str, is_idle: bool) -> FileWriter:
        return FileWriter(self.git, self.admin, self.root, self.owner, len(tree) // 2, is_idle)

    async def _write_files(self, tree: str, layout: TreeLayout, paths: frozenset[str], is_idle: bool) -> None:
        """Write files as the index has them, for their owner; the index knows of them then."""
        if self.owner is not None:
            chown_top_directory(self.root, self.owner)
        if not await self._build_writer(tree, is_idle).write_files(paths, layout):
            await tree_checkout.refresh_index(self.git)

    async def list_paths(self, glob: str = "**") -> tuple[str, ...]:
        """Return the files, tracked and untracked but not ignored, that fit a glob, sorted.

        Raises:
            GitError: the glob leaves the worktree, or it or the ignore rules take for ever.
        """
        listing = await tree_checkout.list_index_files(
            self.git, *file_search.LIST_OPTIONS, "--", *file_search.build_pathspecs(glob), env=GLOB_ENVIRONMENT
        )
        return file_search.parse_listing(listing.text)

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

    async def list_paths_beside(self, tree: str, limit: int) -> tuple[str, ...]:
        """Return the first paths that belong to no file of a tree, whether git ignores them or not.

        Raises:
            GitError: there is no such tree.
        """
        layout = await self.layouts.load_layout(self.git, tree)
        return await to_thread.run_sync(list_paths_beside, self.root, layout, limit)

    async def search_text(self, pattern: str, glob: str, limit: int) -> tuple[str, ...]:
        """Return the first `limit` matching lines of the files that fit a glob, as `path:line:text`; long ones are cut.

        Args:
            pattern: a POSIX extended regular expression.
            glob: `**` for all files.
            limit: how many lines at most.

        Raises:
            GitError: the pattern is no regular expression, or the search took too long.
        """
        options = file_search.build_search_options(pattern, limit)
        try:
            with fail_after(_GREP_TIMEOUT_S):
                found = await self.git.run(
                    *("grep", *options, "--", *file_search.build_pathspecs(glob)),
                    ok=(0, 1),
                    env=GLOB_ENVIRONMENT,
                    limit_bytes=_GREP_BYTES,
                )
        except TimeoutError as error:
            raise GitError(f"searching for {pattern!r} took longer than {_GREP_TIMEOUT_S:.0f} s") from error
        return tuple(map(":".join, file_search.parse_hits(found.stdout, limit)))
