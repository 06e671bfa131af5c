"""Globs as callers write them, in the form git matches paths with."""

from worktrees.errors import GitError


def build_pathspecs(glob: str) -> tuple[str, ...]:
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


GLOB_ENVIRONMENT = {"GIT_LITERAL_PATHSPECS": "0"}
"""The environment in which `pathspecs` are understood."""
