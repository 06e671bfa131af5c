"""A branch on a remote: where it stands, and moving it forward. Never by force, and always as the user."""

import re

from worktrees.errors import GitError, PushRefused, UnknownRemote
from worktrees.git import Git

_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_REFUSED = re.compile(r"^!\t[^\t]*\t(.*)$", re.MULTILINE)
_NO_SUCH_REMOTE = 2


async def require_remote(git: Git, remote: str) -> str:
    """The URL that is pushed to.

    Raises:
        UnknownRemote: neither the repository's nor the user's configuration knows the remote.
    """
    try:
        return await git.for_remotes().text("remote", "get-url", "--push", "--", remote)
    except GitError as error:
        if error.exit_code == _NO_SUCH_REMOTE:
            raise UnknownRemote(f"there is no remote {remote}", error.args_, error.exit_code, error.stderr) from error
        raise


async def remote_tip(git: Git, remote: str, branch: str) -> str | None:
    """The commit at which a branch stands on a remote, None if it does not exist there.

    Raises:
        UnknownRemote: there is no such remote.
        GitError: it could not be reached.
    """
    url, ref = await require_remote(git, remote), f"refs/heads/{branch}"
    try:
        listing = await git.for_remotes().text("ls-remote", "--", url, ref)
    except GitError as error:
        raise _without_credentials(error) from error
    lines = (line.partition("\t") for line in listing.splitlines())
    return next((commit for commit, _, name in lines if name == ref), None)


async def push_commit(git: Git, remote: str, commit: str, branch: str) -> None:
    """Make a branch on a remote, or move it forward to a commit.

    Raises:
        PushRefused: it would not be a move forward, or the remote does not allow it.
        GitError: it could not be reached.
    """
    options = ("--porcelain", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no")
    try:
        done = await git.for_remotes().run("push", *options, "--", remote, f"{commit}:refs/heads/{branch}", ok=(0, 1))
    except GitError as error:
        raise _without_credentials(error) from error
    if done.exit_code:
        said = "; ".join(_REFUSED.findall(done.text)) or "it did not say why"
        raise PushRefused(f"{remote} refuses {branch}: {said}", ("push", remote), done.exit_code)


def _without_credentials(error: GitError) -> GitError:
    """The same, without what may stand before the host in a URL."""
    return GitError(_CREDENTIALS.sub("…", str(error)), (error.args_[:1]), error.exit_code, "")
