"""Merges and commits without a worktree. The same arguments always give the same ids."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.object_store.object_ids import is_object_id

COMMIT_AUTHOR = ("Orchestrate", "orchestrate@localhost")
EPOCH_DATE = "2000-01-01T00:00:00+00:00"
"""The date of a commit for which the caller names none."""

_NOT_BARE = ("core.bare", "false")
"""A bare repository may have worktrees, but git 2.39 aborts when it has to look at attributes in one."""


@dataclass(frozen=True)
class MergedTree:
    """A merge without conflicts, as a tree."""

    tree: str


@dataclass(frozen=True)
class MergeConflict:
    """A merge that is not finished: the paths in conflict, sorted, git's words on each, and the tree with all the rest.

    Files in conflict hold markers there, or one of the sides.
    """

    tree: str
    paths: tuple[str, ...]
    messages: tuple[str, ...]


@contextmanager
def prepare_merging(git: Git, union: Sequence[str] = ()) -> Iterator[Git]:
    """Lend git for merges in which files that match one of the `union` patterns keep the added lines of both sides.

    Patterns are those of `.gitattributes`, whose own `merge` attributes win over them.
    """
    able = replace(git, overrides=(*git.overrides, _NOT_BARE))
    if not union:
        yield able
        return
    with TemporaryDirectory(prefix="orchestrate-merge-") as name:
        attributes = Path(name) / "attributes"
        lines = [f"{_quote_pattern(pattern)} merge=union\n" for pattern in union]
        attributes.write_text("".join(lines), encoding="utf-8", errors="surrogateescape")
        yield replace(able, overrides=(*able.overrides, ("core.attributesFile", str(attributes))))


def _quote_pattern(pattern: str) -> str:
    escaped = pattern.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


async def merge_commits(git: Git, ours: str, theirs: str, union: Sequence[str] = ()) -> MergedTree | MergeConflict:
    """Merge two commits on their natural base, honouring the `merge` attributes that the tree itself sets.

    Of files that match one of the `union` patterns the lines that both sides added are kept, ours first.

    Raises:
        GitError: one of them is no commit, or they have no common history.
    """
    options = ("--write-tree", "-z", "--name-only", "--messages")
    with prepare_merging(git, union) as able:
        done = await able.run("merge-tree", *options, ours, theirs, ok=(0, 1))
    tree, *rest = done.text.split("\0")
    if not tree:  # git says 1 for this as it does for a conflict
        raise build_unmergeable_error(ours, theirs)
    if done.exit_code:
        return MergeConflict(tree, *parse_conflicts(rest))
    return MergedTree(tree)


def build_unmergeable_error(ours: str, theirs: str) -> GitError:
    """Return the error for two names of which one is no commit."""
    return GitError(f"git merge-tree cannot merge {theirs} into {ours}: one of them is no commit", ("merge-tree",), 1)


def parse_conflicts(fields: list[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Parse paths up to an empty field; then messages, each: number of paths, the paths, its kind, its text."""
    end = [*fields, ""].index("")
    paths, messages = set(fields[:end]), []
    position = end + 1
    while position < len(fields) and fields[position].isdigit():
        kind_at = position + 1 + int(fields[position])
        if fields[kind_at].startswith("CONFLICT"):
            messages.append(fields[kind_at + 1].strip())
            paths.update(fields[position + 1 : kind_at] if not end else ())
        position = kind_at + 2
    return tuple(sorted(paths)), tuple(messages)


async def commit_tree(
    git: Git, tree: str, parents: Sequence[str], message: str, when: str, author: tuple[str, str] = COMMIT_AUTHOR
) -> str:
    """Commit a tree as `author`, a name and an address; `when` is an ISO 8601 date, author's and committer's.

    Raises:
        GitError: the tree or a parent does not exist, or `when` is no date.
    """
    arguments, body, identity = build_commit_input(tree, parents, message, when, author)
    return await git.run_text(*arguments, stdin=body, env=identity)


def build_commit_input(
    tree: str, parents: Sequence[str], message: str, when: str, author: tuple[str, str]
) -> tuple[list[str], bytes, dict[str, str]]:
    """Return the arguments, the standard input and the variables with which git makes a commit.

    Raises:
        GitError: `when` is no date.
    """
    name, mail = author
    who = {"NAME": name, "EMAIL": mail, "DATE": _format_git_date(when)}
    identity = {}
    for role in ("AUTHOR", "COMMITTER"):
        for key, value in who.items():
            identity[f"GIT_{role}_{key}"] = value
    arguments = ["commit-tree", tree]
    for parent in parents:
        arguments += ["-p", parent]
    body = message.replace("\0", "").encode("utf-8", "replace")
    return [*arguments, "-F", "-"], body or b"\n", identity


def _format_git_date(when: str) -> str:
    try:
        moment = datetime.fromisoformat(when)
    except ValueError as error:
        raise GitError(f"{when!r} is no ISO 8601 date for a commit") from error
    if not moment.tzinfo:
        moment = moment.replace(tzinfo=UTC)
    return f"@{int(moment.timestamp())} {moment:%z}"


async def is_ancestor(git: Git, ancestor: str, descendant: str) -> bool:
    """Return True if `descendant` holds `ancestor` in its history; a commit is its own ancestor."""
    if ancestor == descendant and is_object_id(ancestor):
        return True
    told = await git.run("merge-base", "--is-ancestor", ancestor, descendant, ok=(0, 1))
    return told.exit_code == 0
