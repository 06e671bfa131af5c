"""A throw-away git directory for each workspace, so that git works inside and nothing it does counts outside.

It stands at `INSIDE` in the sandbox. Of the user's repository only the objects can be read there (and the names of
tags are copied, which many builds derive their version from). Nobody outside ever runs git on it.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from orchestrator.hands.trees import give_tree
from worktrees.repository import Repository

INSIDE = "/run/git"
OBJECTS = "/run/objects"

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
    """What the shadows of one repository have in common: where objects are, and texts of files in a git directory."""

    objects: Path
    alternates: tuple[Path, ...]
    config: str
    tags: str
    exclude: str
    shallow: str | None


async def read_origin(repository: Repository) -> Origin:
    """Read from the user's repository what a shadow takes from it.

    Raises:
        GitError: git could not read it.
    """
    git = repository.git
    hash_name = await git.text("config", "--get", "extensions.objectFormat", ok=(0, 1))
    form = "%(objectname) %(refname)%(if)%(*objectname)%(then)%0a^%(*objectname)%(end)"
    tags = await git.text("for-each-ref", f"--format={form}", "refs/tags")
    common = repository.common_dir
    shallow = common / "shallow"
    return Origin(
        objects=common / "objects",
        alternates=_alternates(common / "objects"),
        config=_CONFIG.format(hash=hash_name or "sha1"),
        tags=f"# pack-refs with: peeled fully-peeled sorted\n{tags}\n" if tags else "",
        exclude=_text(common / "info" / "exclude") or "",
        shallow=_text(shallow),
    )


def make(directory: Path, origin: Origin, commit: str, index: Path, owner: int | None, objects: str = OBJECTS) -> None:
    """Create the git directory: HEAD detached at `commit`, a copy of the checkout's `index` with its file times.

    `objects` is where the repository's objects stand for a command.
    """
    for folder in ("refs/heads", "refs/tags", "objects/info", "objects/pack", "info"):
        (directory / folder).mkdir(parents=True)
    texts = {
        "HEAD": f"{commit}\n",
        "config": origin.config,
        "objects/info/alternates": f"{objects}\n",
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


def _alternates(objects: Path) -> tuple[Path, ...]:
    """Other object directories that this one borrows from, by absolute path: git follows them from inside as well."""
    found: list[Path] = []
    todo = [objects]
    while todo and len(found) < 5:
        for line in (_text(todo.pop() / "info" / "alternates") or "").splitlines():
            place = Path(line)
            if place.is_absolute() and place.is_dir() and place not in found:
                found.append(place)
                todo.append(place)
    return tuple(found)


def _text(file: Path) -> str | None:
    try:
        return file.read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
