"""A copy of a repository on another machine: its objects and tags, and the settings that decide what files hold.

It has no checkout and no branch of its own; worktrees are made from it like from any other repository.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from anyio import to_thread

from worktrees.git import Git
from worktrees.object_store.packs import find_existing_objects, read_object_format
from worktrees.records import encode_records
from worktrees.repositories.repository import GitRepository
from worktrees.safety.private_directory import create_private_directory

_SETTINGS = ("core.autocrlf", "core.eol", "core.symlinks", "core.ignorecase", "core.filemode", "core.precomposeunicode")
"""Settings of a repository that say which bytes and modes its files have; no other setting is copied."""
_FILES = ("info/exclude", "info/attributes", "shallow")
_TAGS = "%(objectname) %(refname)"


@dataclass(frozen=True)
class MirrorContent:
    """The parts of a repository that a mirror has besides objects.

    `settings` are values by key, `files` texts by their place in the git directory, `tags` objects by full ref name.
    `head` is the commit that the original has checked out.
    """

    hash_name: str
    head: str
    settings: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)


async def read_mirror_content(repository: GitRepository) -> MirrorContent:
    """Return what a mirror of the repository needs besides objects.

    Raises:
        GitError: git could not read it.
    """
    git, settings, files = repository.git, dict[str, str](), dict[str, str]()
    for key in _SETTINGS:
        found = await git.run_text("config", "--get", key, ok=(0, 1))
        if found:
            settings[key] = found
    for name in _FILES:
        file = repository.common_dir / name
        if file.is_file():
            files[name] = file.read_text(encoding="utf-8", errors="surrogateescape")
    tags = {}
    for line in (await git.run_text("for-each-ref", f"--format={_TAGS}", "refs/tags")).splitlines():
        oid, _, name = line.partition(" ")
        tags[name] = oid
    head = await to_thread.run_sync(repository.read_head_commit)
    return MirrorContent(await read_object_format(git), head, settings, files, tags)


async def open_mirror(place: Path, content: MirrorContent) -> GitRepository:
    """Return the mirror in the directory `place`, made or brought up to date; its objects come later.

    Raises:
        GitError: git could not do it, or it is a mirror of a repository with another hash.
        OSError: its files cannot be written.
    """
    git_dir, root = place / "git", place / "checkout"
    await to_thread.run_sync(create_private_directory, git_dir)
    await to_thread.run_sync(create_private_directory, root)
    git = Git(git_dir)
    await git.run("init", "--quiet", "--bare", f"--object-format={content.hash_name}")
    settings = {"core.bare": "false", "gc.auto": "0", **content.settings}
    for key, value in settings.items():
        await git.run("config", key, value)
    for name in _FILES:
        await to_thread.run_sync(_write_text, git_dir / name, content.files.get(name))
    return GitRepository(root, git_dir, git_dir, git)


async def point_mirror_refs(mirror: GitRepository, content: MirrorContent) -> bool:
    """Point the mirror's tags, and what it calls checked out, at those of the original whose objects it has.

    Returns:
        True if it has all of them, so that there is no more to point.

    Raises:
        GitError: git could not do it.
    """
    git = mirror.git
    known = await find_existing_objects(git, (*content.tags.values(), content.head))
    lines = []
    for name, oid in content.tags.items():
        if oid in known:
            lines.append(f"update {name}\0{oid}\0")
    if lines:
        await git.run("update-ref", "-z", "--stdin", stdin=encode_records(lines))
    if content.head in known:
        await git.run("update-ref", "--no-deref", "HEAD", content.head)
    return known.keys() >= {*content.tags.values(), content.head}


def _write_text(file: Path, text: str | None) -> None:
    if text is None:
        file.unlink(missing_ok=True)
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8", errors="surrogateescape")
