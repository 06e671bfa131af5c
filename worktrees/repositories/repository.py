"""The user's own repository: where it is, what it has checked out, what differs. Nothing in it is ever changed here."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from worktrees.errors import GitError, NoCommit, NotARepository
from worktrees.git import Git
from worktrees.object_store.merge import COMMIT_AUTHOR
from worktrees.repositories.discovery import Checkout, find_checkout
from worktrees.repositories.git_directory import check_git_directory
from worktrees.safety.content_drivers import LIST_DRIVERS, build_driver_overrides
from worktrees.safety.git_environment import Setting
from worktrees.safety.path_rules import escape_path

_BRANCH = "refs/heads/"


@dataclass(frozen=True)
class GitRepository:
    """A repository with files: its checkout at `root`, the git directory of that checkout, and the shared one.

    `git` works on objects and refs only; `root` is reached through `checkout_git`. `is_borrowing` where its objects,
    or those of its `lender`, lie elsewhere on this machine. `lender` is the repository that we made this one from.
    """

    root: Path
    git_dir: Path
    common_dir: Path
    git: Git
    is_borrowing: bool = False
    lender: "GitRepository | None" = None

    @classmethod
    def open(cls, path: Path) -> "GitRepository":
        """Open the repository that `path` lies in: a checkout, a linked worktree, or anything inside one.

        Raises:
            NotARepository: there is none, it is bare or another user's, or git cannot or may not read it.
            NoCommit: it has no commit yet.
        """
        try:
            place = find_checkout(path)
            is_borrowing = check_git_directory(place)
        except OSError as error:
            raise NotARepository(f"{path} cannot be looked into: {error}") from error
        try:
            git = Git(place.common_dir, overrides=_read_driver_overrides(place))
            opened = cls(place.root, place.git_dir, place.common_dir, git, is_borrowing)
            opened.read_head_commit()
        except NoCommit:
            raise
        except GitError as error:
            raise NotARepository(f"git cannot use the repository of {place.root}: {error}") from error
        return opened

    @property
    def checkout_git(self) -> Git:
        """Git on the user's own checkout, for reading only."""
        return Git(self.git_dir, work_tree=self.root, overrides=self.git.overrides)

    def read_branch(self) -> str | None:
        """Return the branch that is checked out, None when HEAD is detached."""
        return self.checkout_git.run_sync("symbolic-ref", "--quiet", "--short", "HEAD", ok=(0, 1)).text or None

    def read_head_commit(self) -> str:
        """Return the commit that is checked out.

        Raises:
            NoCommit: the branch has none yet.
        """
        found = self.checkout_git.run_sync("rev-parse", "--verify", "--quiet", "HEAD^{commit}", ok=(0, 1))
        if found.exit_code:
            raise NoCommit(f"{self.root} has no commit to start from: commit something first (git add -A, git commit)")
        return found.text

    def list_dirty_paths(self) -> tuple[str, ...]:
        """Return the paths that are changed or untracked in the user's checkout, sorted, in printable form.

        Ignored files and submodules are left out. Files that a filter of the user's converts may be named although
        they are unchanged: filters are not run.
        """
        status = self.checkout_git.run_sync(
            "status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignore-submodules=all", "--no-renames"
        )
        return tuple(sorted({escape_path(entry[3:]) for entry in status.text.split("\0") if entry}))

    def list_checked_out_branches(self) -> Mapping[str, Path]:
        """Return each branch that some checkout of the repository has checked out or is rebasing, and where."""
        listing = self.git.run_sync("worktree", "list", "--porcelain", "-z").text
        found = dict(self._iterate_rebased_branches())
        for record in listing.split("\0\0"):
            fields = dict(line.partition(" ")[::2] for line in record.split("\0"))
            if "branch" in fields:
                found[fields["branch"].removeprefix(_BRANCH)] = Path(fields["worktree"])
        return found

    def _iterate_rebased_branches(self) -> Iterator[tuple[str, Path]]:
        """Yield the branches of rebases under way, which git does not call checked out, and where."""
        places = [(self.common_dir, self.common_dir.parent)]
        for linked in sorted((self.common_dir / "worktrees").glob("*/gitdir")):
            places.append((linked.parent, Path(linked.read_text(errors="surrogateescape").strip()).parent))
        for directory, place in places:
            for name in ("rebase-merge", "rebase-apply"):
                file = directory / name / "head-name"
                if file.is_file():
                    yield file.read_text(errors="surrogateescape").strip().removeprefix(_BRANCH), place

    def read_driver_overrides(self) -> tuple[Setting, ...]:
        """Return the settings that switch off the drivers that the configuration names now.

        The user may change it during a run.
        """
        return _read_driver_overrides(Checkout(self.root, self.git_dir, self.common_dir))

    def read_configuration(self) -> bytes:
        """Return the files that the configuration is made of, not counting files that they include."""
        places = dict.fromkeys((self.common_dir, self.git_dir))
        files = []
        for place in places:
            for name in ("config", "config.worktree"):
                files.append(place / name)
        return b"\0".join(file.read_bytes() if file.is_file() else b"" for file in files)


def create_repository(root: Path, message: str, author: tuple[str, str] = COMMIT_AUTHOR) -> GitRepository:
    """Make a directory a repository on branch `main` with one commit of all it holds, by `author`: name and mail.

    Raises:
        GitError: it is one already, or git could not do it.
    """
    git_dir = root.resolve() / ".git"
    try:
        git_dir.mkdir()
    except FileExistsError as error:
        raise GitError(f"{root} is a repository already") from error
    bare = Git(git_dir)  # a git that knows a work tree would write its path into the configuration
    bare.run_sync("init", "--quiet", "--initial-branch=main")
    bare.run_sync("config", "core.bare", "false")
    git = bare.with_paths(work_tree=git_dir.parent)
    git.run_sync("add", "--all")
    name, mail = author
    git.run_sync("-c", f"user.name={name}", "-c", f"user.email={mail}", "commit", "--quiet", "--message", message)
    return GitRepository.open(root)


def _read_driver_overrides(place: Checkout) -> tuple[Setting, ...]:
    listings = []
    for directory in {place.git_dir, place.common_dir}:
        listings.append(Git(directory).run_sync(*LIST_DRIVERS, ok=(0, 1)))
    return build_driver_overrides(b"".join(listing.stdout for listing in listings))
