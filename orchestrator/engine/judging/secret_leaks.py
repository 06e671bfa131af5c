"""Secrets that this process knows and a candidate would carry into the repository."""

from orchestrator.redact.redactor import Redactor
from worktrees.diffs.tree_changes import SUBMODULE, compare_trees
from worktrees.git import Git
from worktrees.object_store.batch_reader import read_objects
from worktrees.object_store.trees import read_blobs


async def find_secret_leaks(git: Git, redactor: Redactor, old: str, new: str) -> tuple[str, ...]:
    """Return which files of `new` hold which secret's value, in words, without files that held it in `old`.

    Raises:
        GitError: one of the two does not exist.
    """
    if not redactor.names:
        return ()
    changed = [change for change in await compare_trees(git, old, new) if change.new_mode not in (None, SUBMODULE)]
    contents = await read_blobs(git, [change.oid for change in changed])
    held = {}
    for change in changed:
        held[change.path] = set(redactor.find_secrets(contents[change.oid]))
    suspects = [path for path, names in held.items() if names]
    before = await read_objects(git, [f"{old}:{path}".encode() for path in suspects])
    for path, was in zip(suspects, before, strict=True):
        held[path] -= set(redactor.find_secrets(was.content)) if was else set()
    return tuple(f"{path} holds the value of {', '.join(sorted(held[path]))}" for path in suspects if held[path])
