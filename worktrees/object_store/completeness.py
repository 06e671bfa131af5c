"""Objects that a clone does not have, or has only pointers to: partial clones, submodules and git LFS."""

from worktrees.git import Git

_ATTRIBUTES = (".gitattributes", "**/.gitattributes")


async def count_missing_objects(git: Git, commit: str) -> int:
    """Return the number of the commit's trees and files that a partial clone has not fetched; 0 for a full clone."""
    packs = git.git_dir / "objects" / "pack"
    if not any(packs.glob("*.promisor")):
        return 0
    listing = await git.run_text("rev-list", "--objects", "--missing=print", "--no-walk", commit)
    return sum(line.startswith("?") for line in listing.splitlines())


async def has_lfs_files(git: Git, commit: str) -> bool:
    """Return True if the commit's attributes leave the content of files to git LFS."""
    found = await git.run("grep", "-q", "--no-textconv", "-e", "filter=lfs", commit, "--", *_ATTRIBUTES, ok=(0, 1))
    return found.exit_code == 0


async def list_submodules(git: Git, commit: str) -> tuple[str, ...]:
    """Return the paths at which the commit names a commit of another repository, instead of files."""
    listing = await git.run_text("ls-tree", "-r", "-z", "--format=%(objecttype) %(path)", commit)
    paths = []
    for entry in listing.split("\0"):
        kind, _, path = entry.partition(" ")
        if kind == "commit":
            paths.append(path)
    return tuple(paths)
