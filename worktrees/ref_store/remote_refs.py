"""Branches and other refs of a remote: where they stand, and moving them. Always as the user.

A branch moves forward, or away from a tip that its caller names; what else is ours there is replaced only as long as it
is what we know.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from anyio import to_thread

from worktrees.errors import GitError, PushRefused, UnknownRemote
from worktrees.git import Git
from worktrees.git_process import GitOutput
from worktrees.object_store.packs import quote_alternate
from worktrees.ref_store.remote_view import parse_local_path
from worktrees.repositories.configuration import list_remotes
from worktrees.safety.path_rules import escape_path

_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+(?=@)")
_REFUSED = re.compile(r"^!\t[^\t]*\t(.*)$", re.MULTILINE)
_NO_SUCH_REMOTE = 2
_PUSH = ("--porcelain", "--no-verify", "--no-follow-tags", "--no-signed", "--recurse-submodules=no")
_NOT_ATOMIC = "does not support --atomic"
"""Words of git about a server that cannot move several refs at once."""


async def get_push_url(git: Git, remote: str) -> str:
    """Return the URL that is pushed to.

    Raises:
        UnknownRemote: neither the repository's nor the user's configuration knows the remote.
        GitError: it is a repository within the checkout.
    """
    try:
        listing = await git.build_remote_git().run_text("remote", "get-url", "--push", "--all", "--", remote)
    except GitError as error:
        if error.exit_code == _NO_SUCH_REMOTE:
            told = f"there is no remote {remote} ({await to_thread.run_sync(_describe_remotes, git.git_dir)})"
            raise UnknownRemote(told, error.args_, error.exit_code, error.stderr) from error
        raise
    urls = listing.splitlines()
    for url in urls:
        await _require_outside_checkout(git, remote, url)
    return urls[0]


def _describe_remotes(git_dir: Path) -> str:
    try:
        names = sorted(list_remotes(git_dir))
    except GitError as error:
        return str(error)
    if names:
        return f"the repository has {', '.join(map(escape_path, names))}"
    return "the repository has none"


async def _require_outside_checkout(git: Git, remote: str, url: str) -> None:
    """Make sure that a remote did not come along with the repository: hooks of a local one would run as the user."""
    path = parse_local_path(url)
    if path is None:
        return
    records = (await git.run_text("worktree", "list", "--porcelain", "-z")).split("\0")
    checkouts = []
    for one in records:
        if one.startswith("worktree "):
            checkouts.append(Path(one.removeprefix("worktree ")))
    around = next((one for one in (git.git_dir, *checkouts) if path.resolve().is_relative_to(one.resolve())), None)
    if around is not None:
        raise GitError(
            f"the remote {remote} is {path}, which lies inside {around}: what the repository brought along is never "
            "pushed to, because its hooks would run as you; move it elsewhere, or name another remote"
        )


async def read_remote_tip(git: Git, remote: str, branch: str) -> str | None:
    """Return the commit at which a branch stands on a remote, None if it does not exist there.

    Raises:
        UnknownRemote: there is no such remote.
        GitError: it could not be reached.
    """
    ref = f"refs/heads/{branch}"
    return (await list_remote_refs(git, remote, ref)).get(ref)


async def push_commit(
    git: Git, remote: str, commit: str, branch: str, wishes: Sequence[str] = (), *, replaced: str = ""
) -> None:
    """Make a branch on a remote, or move it forward to a commit. `wishes` are told to the remote as push options.

    If the branch stands at `replaced`, it also moves away from there; never from any other commit.

    Raises:
        PushRefused: it would not be a move forward, or the remote does not allow it.
        GitError: it could not be reached.
    """
    await get_push_url(git, remote)
    told = [*_PUSH, *map("--push-option={}".format, wishes)]
    if replaced:
        told.append(f"--force-with-lease=refs/heads/{branch}:{replaced}")
    words, pusher = (*told, "--", remote, f"{commit}:refs/heads/{branch}"), git.build_remote_git()
    with _hide_credentials():
        try:
            done = await pusher.run("push", "--atomic", *words, ok=(0, 1))
        except GitError as error:
            if _NOT_ATOMIC not in error.stderr:
                raise
            done = await pusher.run("push", *words, ok=(0, 1))  # a single branch moves as a whole there, too
    _require_accepted(done, remote, branch)


@contextmanager
def _hide_credentials() -> Iterator[None]:
    """Leave out of an error of the block what may stand before the host in a URL."""
    try:
        yield
    except GitError as error:
        raise GitError(_CREDENTIALS.sub("…", str(error)), (error.args_[:1]), error.exit_code, "") from error


def _require_accepted(done: GitOutput, remote: str, names: str) -> None:
    if done.exit_code:
        said = "; ".join(_REFUSED.findall(done.text)) or "it did not say why"
        raise PushRefused(f"{remote} refuses {names}: {said}", ("push", remote), done.exit_code)


async def list_remote_refs(git: Git, remote: str, *patterns: str) -> dict[str, str]:
    """Return the refs of a remote that fit one of the patterns, with what each points at.

    A pattern is a name such as `refs/orchestrate/*`.

    Raises:
        UnknownRemote: there is no such remote.
        GitError: it could not be reached.
    """
    url = await get_push_url(git, remote)
    with _hide_credentials():
        listing = await git.build_remote_git().run_text("ls-remote", "--", url, *patterns)
    lines = (line.partition("\t") for line in listing.splitlines())
    return {name: oid for oid, _, name in lines}


async def fetch_refs(git: Git, remote: str, refs: Sequence[str]) -> None:
    """Have refs here stand where they stand on a remote, wherever they stood before; all of them exist there.

    Raises:
        UnknownRemote: there is no such remote.
        GitError: it could not be reached, or has no such ref.
    """
    await _fetch_refspecs(git, remote, [f"+{ref}:{ref}" for ref in refs])


async def _fetch_refspecs(git: Git, remote: str, what: Sequence[str]) -> None:
    url = await get_push_url(git, remote)
    options = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--recurse-submodules=no")
    with _hide_credentials():
        await git.build_remote_git().run("fetch", *options, "--", url, *what)


async def fetch_commits(git: Git, remote: str, commits: Sequence[str]) -> None:
    """Get commits with all their history from a remote, for a clone that was made without it.

    Raises:
        UnknownRemote: there is no such remote.
        GitError: it could not be reached, or has no such commit.
    """
    await _fetch_refspecs(git, remote, commits)


async def swap_remote_refs(
    git: Git, remote: str, moves: Mapping[str, tuple[str, str | None]], objects: Path | None = None
) -> None:
    """Move refs of a remote, all or none.

    Args:
        git: the repository.
        remote: a name that it knows.
        moves: each ref with what it is to point at, and what it must point at until then (None: it must not exist).
        objects: the directory of another repository's objects, where what is to be pushed may lie.

    Raises:
        PushRefused: one of them points elsewhere by now, or the remote does not allow it.
        GitError: it could not be reached.
    """
    leases = []
    for ref, (_, old) in moves.items():
        leases.append(f"--force-with-lease={ref}:{old or ''}")
    wanted = [f"{new}:{ref}" for ref, (new, _) in moves.items()]
    also = (
        {"GIT_ALTERNATE_OBJECT_DIRECTORIES": quote_alternate(objects).decode("utf-8", "surrogateescape")}
        if objects
        else {}
    )
    url = await get_push_url(git, remote)
    with _hide_credentials():
        done = await git.build_remote_git().run(
            "push", "--atomic", *_PUSH, *leases, "--", url, *wanted, ok=(0, 1), env=also
        )
    _require_accepted(done, remote, ", ".join(moves))
