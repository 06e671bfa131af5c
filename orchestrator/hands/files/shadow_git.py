"""A throw-away git directory for each workspace, so that git works inside and nothing it does counts outside.

It stands at `.git` of the checkout in the sandbox, and looks like that of an ordinary clone: a branch is checked out,
and its reflog begins with the clone. Of the user's repository only the objects can be read there. The names of tags are
copied, as many builds derive their version from them. Nobody outside ever runs git on it.
"""

import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from orchestrator.hands.files.directory_trees import set_tree_owner
from worktrees.object_store.packs import find_existing_objects
from worktrees.repositories.alternates_copy import AlternatesCopy
from worktrees.repositories.borrowing import LENDER_LINK
from worktrees.repositories.repository import GitRepository

_CONFIG = """\
[core]
\trepositoryformatversion = {version}
\tbare = false
\tlogAllRefUpdates = true
\tautocrlf = false
\tfileMode = true
\tsymlinks = true
[gc]
\tauto = 0
[maintenance]
\tauto = false
[user]
\tname = {user}
\temail = {user}@{host}.invalid
"""
_EXTENSIONS = "[extensions]\n\tobjectFormat = {hash_name}\n"


@dataclass(frozen=True)
class ShadowIdentity:
    """The names in a shadow: the branch that is checked out, and who commits in it, from which host.

    `objects` is where the repository's objects stand for a command.
    """

    objects: str
    branch: str = "main"
    user: str = "worker"
    host: str = "localhost"


@dataclass(frozen=True)
class ShadowOrigin:
    """The common parts of a repository's shadows: object directories, and texts of files in a git directory.

    `lent` are object directories that we ourselves let the repository borrow from. `copy` stands in for the objects of
    a repository that borrows by itself: nothing that it names is ever mounted.
    """

    objects: Path
    lent: tuple[Path, ...]
    copy: AlternatesCopy | None
    hash_name: str
    tags: str
    exclude: str
    shallow: str | None


async def read_origin(repository: GitRepository, copies: Path | None) -> ShadowOrigin:
    """Read from the user's repository what a shadow takes from it.

    `copies` is where objects are copied to that the repository borrows; None where nothing has to be mounted.

    Raises:
        GitError: git could not read it.
        OSError: the copy cannot be written.
    """
    git = repository.git
    hash_name = await git.run_text("config", "--get", "extensions.objectFormat", ok=(0, 1))
    ref_format = "%(objectname) %(refname)%(if)%(*objectname)%(then)%0a^%(*objectname)%(end)"
    tags = await git.run_text("for-each-ref", f"--format={ref_format}", "refs/tags")
    common = repository.common_dir
    copy = AlternatesCopy(repository, copies) if copies and repository.is_borrowing else None
    if copy:
        oids = dict.fromkeys(line.partition(" ")[0] for line in tags.splitlines() if not line.startswith("^"))
        await copy.copy_reachable(await find_existing_objects(git, oids))
    return ShadowOrigin(
        objects=copy.objects_directory if copy else common / "objects",
        lent=(common / LENDER_LINK,) if repository.lender and not copy else (),
        copy=copy,
        hash_name=hash_name or "sha1",
        tags=f"# pack-refs with: peeled fully-peeled sorted\n{tags}\n" if tags else "",
        exclude=_read_text(common / "info" / "exclude") or "",
        shallow=_read_text(common / "shallow"),
    )


def create_shadow_git(
    directory: Path, origin: ShadowOrigin, commit: str, index: Path, owner: int | None, identity: ShadowIdentity
) -> None:
    """Create the git directory: a branch at `commit`, a copy of the checkout's `index` with its file times."""
    for folder in ("refs/heads", "refs/tags", "objects/info", "objects/pack", "info", "hooks"):
        (directory / folder).mkdir(parents=True)
    ref = f"refs/heads/{identity.branch}"
    email = f"{identity.user}@{identity.host}.invalid"
    reflog = f"{'0' * len(commit)} {commit} {identity.user} <{email}> {int(time.time())} +0000\tclone: from origin\n"
    texts = {
        "HEAD": f"ref: {ref}\n",
        ref: f"{commit}\n",
        "logs/HEAD": reflog,
        f"logs/{ref}": reflog,
        "description": "Unnamed repository; edit this file 'description' to name the repository.\n",
        "config": _build_config(origin.hash_name, identity),
        "objects/info/alternates": f"{identity.objects}\n",
        "packed-refs": origin.tags,
        "info/exclude": origin.exclude,
        "shallow": origin.shallow,
    }
    for name, text in texts.items():
        if text:
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            (directory / name).write_text(text, encoding="utf-8", errors="surrogateescape")
    for file in (index, *index.parent.glob("sharedindex.*")):
        if file.is_file():
            shutil.copy2(file, directory / file.name)  # with its times: git compares them with those of the files
    set_tree_owner(directory, owner)


def _build_config(hash_name: str, identity: ShadowIdentity) -> str:
    """Return the configuration; only a repository of another hash than git's usual one names it."""
    if hash_name == "sha1":
        return _CONFIG.format(version=0, user=identity.user, host=identity.host)
    config = _CONFIG.format(version=1, user=identity.user, host=identity.host)
    return config + _EXTENSIONS.format(hash_name=hash_name)


def _read_text(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
