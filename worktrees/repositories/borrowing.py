"""A second repository for the same checkout: it reads the objects of the first and has refs and objects of its own."""

from pathlib import Path

from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.repositories.repository import GitRepository

LENDER_LINK = "borrowed"
"""Where a repository made by `borrow` has the objects of the other."""
_UNFIT = ("core.worktree", "core.bare", "extensions.refstorage", "extensions.worktreeconfig")
"""Settings that would say something wrong of the copy."""
_COPIED = ("info/exclude", "info/attributes", "shallow")
_TAGS = "%(objectname) %(refname)%(if)%(*objectname)%(then)%0a^%(*objectname)%(end)"


def create_borrowing_repository(repository: GitRepository, place: Path) -> GitRepository:
    """Make a repository in the new directory `place` with the objects, tags and configuration of another. Blocks.

    Its checkout is the other's, so that workspaces stand at the same path and share the same ignored things. Whatever
    is done with the result changes nothing in the other one.

    Raises:
        GitError: git could not do it.
    """
    try:
        _lay_out(repository, place)
    except OSError as error:
        raise GitError(f"no repository can be made in {place}: {error}") from error
    git = Git(place, overrides=repository.git.overrides)
    for key in _UNFIT:
        git.run_sync("config", "--file", str(place / "config"), "--unset-all", key, ok=(0, 5))
    git.run_sync("config", "--file", str(place / "config"), "core.bare", "false")
    return GitRepository(repository.root, repository.git_dir, place, git, repository.is_borrowing, repository)


def _lay_out(repository: GitRepository, place: Path) -> None:
    origin = repository.common_dir
    for folder in ("refs/heads", "objects/info", "objects/pack", "info"):
        (place / folder).mkdir(parents=True)
    # by another name, because a sandbox puts something else at the place of the checkout's own .git
    (place / LENDER_LINK).symlink_to(origin / "objects")
    tags = repository.git.run_sync("for-each-ref", f"--format={_TAGS}", "refs/tags").text
    texts = {
        "HEAD": b"ref: refs/nothing\n",
        "config": (origin / "config").read_bytes(),
        "objects/info/alternates": f"{place / LENDER_LINK}\n".encode("utf-8", "surrogateescape"),
        "packed-refs": f"# pack-refs with: peeled fully-peeled sorted\n{tags}\n".encode("utf-8", "surrogateescape"),
    }
    copied = {name: (origin / name).read_bytes() for name in _COPIED if (origin / name).is_file()}
    for name, content in (texts | copied).items():
        if content and (name != "packed-refs" or tags):
            (place / name).write_bytes(content)
