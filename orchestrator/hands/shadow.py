"""A throw-away git directory for each workspace, so that git works inside and nothing it does counts outside.

It stands at `INSIDE` in the sandbox. Of the user's repository only the objects can be read there (and the names of
tags are copied, which many builds derive their version from). Nobody outside ever runs git on it.

No file of a git directory decides what of the host is mounted. Objects that a repository borrows from other places
(`objects/info/alternates`) are copied for a sandbox, since those places may hold anything.
"""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.hands.trees import give_tree
from worktrees.packs import copy_reachable_objects
from worktrees.repository import Repository

INSIDE = "/run/git"
_OBJECTS = "/run/objects"

_CONFIG = """\
[core]
\trepositoryformatversion = 1
\tbare = false
\tlogAllRefUpdates = true
\tautocrlf = false
\tfileMode = true
\tsymlinks = true
[extensions]
\tobjectFormat = {hash}
[gc]
\tauto = 0
[maintenance]
\tauto = false
[user]
\tname = Worker
\temail = worker@sandbox.invalid
[advice]
\tdetachedHead = false
"""


@dataclass(frozen=True)
class Origin:
    """What the shadows of one repository have in common: where objects are, and texts of files in a git directory.

    `objects` are directories of the host that a sandbox may see: the repository's own first.
    """

    objects: tuple[Path, ...]
    config: str
    tags: str
    exclude: str
    shallow: str


async def read_origin(repository: Repository, session: Path) -> Origin:
    """Read from the user's repository what a shadow takes from it; copies of objects go into the directory `session`.

    Raises:
        GitError: git could not read it, or its objects lie outside of it.
        OSError: there is no room for the copies.
    """
    git = repository.git
    hash_name = await git.text("config", "--get", "extensions.objectFormat", ok=(0, 1))
    form = "%(objectname) %(refname)%(if)%(*objectname)%(then)%0a^%(*objectname)%(end)"
    tags = await git.text("for-each-ref", f"--format={form}", "refs/tags")
    objects = repository.object_directories()
    if repository.borrows_objects():
        copied = session / "objects"
        await copy_reachable_objects(repository, copied)
        objects = (*objects, copied)
    return Origin(
        objects=objects,
        config=_CONFIG.format(hash=hash_name or "sha1"),
        tags=f"# pack-refs with: peeled fully-peeled sorted\n{tags}\n" if tags else "",
        exclude=_decode(repository.read_file("info/exclude")),
        shallow=_decode(repository.read_file("shallow")),
    )


def objects_inside(count: int) -> tuple[str, ...]:
    """Return where the first `count` object directories of an origin stand in a sandbox."""
    return tuple(_OBJECTS if number == 0 else f"{_OBJECTS}-{number}" for number in range(count))


def make(
    directory: Path, origin: Origin, commit: str, index: Path, owner: int | None, objects: Sequence[str] | None = None
) -> None:
    """Create the git directory: HEAD detached at `commit`, a copy of the checkout's `index` with its file times.

    `objects` is where the repository's objects stand for a command, if not at the usual places of a sandbox.
    """
    places = objects_inside(len(origin.objects)) if objects is None else objects
    for folder in ("refs/heads", "refs/tags", "objects/info", "objects/pack", "info"):
        (directory / folder).mkdir(parents=True)
    texts = {
        "HEAD": f"{commit}\n",
        "config": origin.config,
        "objects/info/alternates": "".join(f"{place}\n" for place in places),
        "packed-refs": origin.tags,
        "info/exclude": origin.exclude,
        "shallow": origin.shallow,
    }
    for name, text in texts.items():
        if text:
            (directory / name).write_text(text, encoding="utf-8", errors="surrogateescape")
    for file in (index, *index.parent.glob("sharedindex.*")):
        if file.is_file():
            shutil.copy2(file, directory / file.name)  # with its times: git compares them with those of the files
    give_tree(directory, owner)


def _decode(content: bytes | None) -> str:
    return (content or b"").decode("utf-8", "surrogateescape")
