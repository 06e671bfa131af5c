"""Whose commits are, and whether they are signed; and giving commits that were made plain their author and signature.

Signing runs git as the user: with the user's own configuration, keys and agents, and with no setting of the repository.
"""

import re
from dataclasses import dataclass
from typing import Literal

import anyio

from worktrees.errors import CommitNotSigned, GitError
from worktrees.git import Git
from worktrees.object_store.merge import COMMIT_AUTHOR, EPOCH_DATE, build_commit_input, commit_tree
from worktrees.object_store.trees import read_tree_id

SIGNING_LIMIT_S = 60.0
"""Longest wait for one signature: a key that wants a passphrase, or a touch that nobody gives, must not hold a run."""
_TRAILERS = re.compile(r"(?:[A-Za-z0-9-]+: .*(?:\n|\Z))+")
"""A last paragraph of trailers alone, to which one more can be added."""
_ADVICE = {
    "ssh": "`ssh-add -l` has to list it, or its file must need no passphrase",
    "openpgp": "`echo | gpg --batch --pinentry-mode error --clearsign` has to work without being asked for anything",
}


@dataclass(frozen=True)
class CommitStyle:
    """Author and committer, as name and address, and how to sign; an empty `key` means the user's `user.signingKey`.

    `co_author` is `NAME <ADDRESS>`, named in a trailer; empty for none.
    """

    author: tuple[str, str] = COMMIT_AUTHOR
    signature: Literal["never", "ssh", "openpgp"] = "never"
    key: str = ""
    co_author: str = ""

    @property
    def is_plain(self) -> bool:
        """Return True if commits stay as they are made."""
        return self == PLAIN_STYLE


PLAIN_STYLE = CommitStyle()


async def restyle_commits(git: Git, base: str, tip: str, style: CommitStyle) -> dict[str, str]:
    """Make the commits after `base` up to `tip` again in this style, with the same trees, messages and dates.

    Returns the new id of each old one, in order; empty for a plain style.

    Raises:
        CommitNotSigned: the key cannot be used; the message says how to mend it.
    """
    made: dict[str, str] = {}
    if style.is_plain:
        return made
    listed = await git.run_text("rev-list", "--reverse", "--first-parent", f"{base}..{tip}")
    for old in listed.split():
        fields = await git.run_text("log", "-1", "--format=%T%x00%P%x00%cI%x00%B", old)
        tree, parents, when, message = fields.split("\0", 3)
        mapped = [made.get(parent, parent) for parent in parents.split()]
        made[old] = await _commit_in_style(git, tree, mapped, _add_co_author(message, style.co_author), when, style)
    return made


def _add_co_author(message: str, co_author: str) -> str:
    """Return a message that ends with one line feed, with the trailer for a co-author; it is not named twice."""
    body, trailer = message.rstrip("\n"), f"Co-authored-by: {co_author}"
    last = body.partition("\n\n")[2].rpartition("\n\n")[2]
    if not co_author or trailer in last.split("\n"):
        return f"{body}\n"
    separator = "\n" if _TRAILERS.fullmatch(last) else "\n\n"
    return f"{body}{separator}{trailer}\n"


async def try_signing(git: Git, style: CommitStyle) -> None:
    """Sign a commit that no ref will hold; nothing happens where commits are not signed.

    Raises:
        CommitNotSigned: the key cannot be used; the message says how to mend it.
    """
    if style.signature != "never":
        tree = await read_tree_id(git, "HEAD")
        await _commit_in_style(git, tree, (), "A trial of the signing key\n", EPOCH_DATE, style)


async def _commit_in_style(
    git: Git, tree: str, parents: "list[str] | tuple[str, ...]", message: str, when: str, style: CommitStyle
) -> str:
    if style.signature == "never":
        return await commit_tree(git, tree, parents, message, when, style.author)
    arguments, body, identity = build_commit_input(tree, parents, message, when, style.author)
    settings = ("-c", f"gpg.format={style.signature}")
    signer = git.build_remote_git()
    try:
        with anyio.fail_after(SIGNING_LIMIT_S):
            return await signer.run_text(*settings, *arguments, f"-S{style.key}", stdin=body, env=identity)
    except (GitError, TimeoutError) as error:
        raise _build_refusal(error, style) from error


def _build_refusal(error: GitError | TimeoutError, style: CommitStyle) -> CommitNotSigned:
    if isinstance(error, GitError):
        said = error.stderr.strip() or str(error)
    else:
        said = f"no signature within {SIGNING_LIMIT_S:.0f} s"
    key = style.key or "git's user.signingKey"
    return CommitNotSigned(
        f"commits cannot be signed with {key} ({style.signature}): {said}. Nobody is asked for a passphrase during a "
        f"run: load the key into its agent first ({_ADVICE[style.signature]}), name another one under key in "
        '[commits], or set sign = "never" there'
    )
