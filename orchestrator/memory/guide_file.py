"""The field guide beside the state of its repository: read by anybody, changed under a lock, replaced by a rename."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from anyio import to_thread

from orchestrator.crash import crash_point
from orchestrator.domain.event.memory import GuideChanged
from orchestrator.domain.ids import RunId
from orchestrator.domain.memory.entry import EntryRetirement, RetirementCause
from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.memory.guide_document import (
    NO_GUIDE,
    GuideDocument,
    apply_changes,
    format_guide,
    merge_guides,
    parse_guide,
)
from worktrees.durable_files import DRAFT_SUFFIX, replace_durably, write_durably
from worktrees.errors import LockTimeout
from worktrees.locks.file_lock import wait_for_file_lock
from worktrees.safety.descriptors import hold_descriptor
from worktrees.safety.private_directory import create_private_directory

GUIDE_FILE = "field-guide.toml"
"""The file below a repository's state directory."""
REPOSITORY_FILE = f".orchestrate/{GUIDE_FILE}"
"""The file in the repository that people commit."""
_LOCK_FILE = "field-guide.lock"
_DRAFT_PREFIX = ".field-guide-"
"""Begins the name of every draft; one that lies there while nobody else holds the lock is a dead process's."""
_PATIENCE_S = 60.0
_LOG = logging.getLogger(__name__)


class GuideFile:
    """A field guide in a directory of our own, into which no sandboxed command can see."""

    def __init__(
        self,
        directory: Path,
        expire_days: int = 90,
        max_entries: int = 200,
        require_writer: Callable[[], None] | None = None,
    ) -> None:
        """Name the guide in `directory`, which need not exist.

        `require_writer` raises if whoever writes may not do so any more; it is called while the guide is locked.
        """
        self._directory = directory
        self._limits = (expire_days, max_entries)
        self._require_writer = require_writer

    @property
    def expire_days(self) -> int:
        """Days after which an entry that nobody used ends."""
        return self._limits[0]

    @property
    def path(self) -> Path:
        """The file, which need not exist."""
        return self._directory / GUIDE_FILE

    def read_guide(self) -> GuideDocument:
        """Return the guide; an empty one without a file or a directory. Blocks.

        Raises:
            EnvironmentProblem: the file cannot be read, or holds something else.
        """
        try:
            return parse_guide(self.path.read_bytes())
        except (FileNotFoundError, NotADirectoryError):
            return NO_GUIDE
        except (OSError, ValueError) as error:
            raise EnvironmentProblem(
                f"the field guide {self.path} cannot be read ({error}): mend it, or move it away to begin a new one"
            ) from error

    async def write_changes(self, run: RunId, changes: GuideChanged, now: datetime) -> None:
        """Bring what a run stands for into the guide, however often it is called; blocks no other task.

        Raises:
            EnvironmentProblem: the guide cannot be read, locked or written.
            RunTakenOver: another process works on the run by now; nothing was written.
        """

        def apply_to_guide(guide: GuideDocument) -> GuideDocument:
            return apply_changes(guide, run, changes, now, self._limits)

        await to_thread.run_sync(self._change, apply_to_guide)

    def merge_guide(self, other: GuideDocument) -> GuideDocument:
        """Bring what another guide holds into this one, and return the result. Blocks; raises as `write_changes`."""

        def merge_into_guide(guide: GuideDocument) -> GuideDocument:
            return merge_guides(guide, other)

        if other != NO_GUIDE:
            self._change(merge_into_guide)
        return self.read_guide()

    def drop_entry(self, name: str, now: datetime) -> None:
        """End an entry because a person says so; it does not come back by itself. Blocks.

        Raises:
            UsageProblem: there is no such entry.
            EnvironmentProblem: as for `write_changes`.
        """

        def drop_from_guide(guide: GuideDocument) -> GuideDocument:
            require_entry(guide, name)
            kept = tuple(entry for entry in guide.entries if entry.id != name)
            dropped = EntryRetirement(entry=name, cause=RetirementCause.DROPPED, at=now)
            return GuideDocument(entries=kept, ended=(*guide.ended, dropped))

        self._change(drop_from_guide)

    def pin_entry(self, name: str, *, is_pinned: bool = True) -> None:
        """Keep an entry whatever happens, or no longer. Blocks; raises as `drop_entry` does."""

        def pin_in_guide(guide: GuideDocument) -> GuideDocument:
            require_entry(guide, name)
            entries = []
            for entry in guide.entries:
                entries.append(entry.model_copy(update={"is_pinned": is_pinned}) if entry.id == name else entry)
            return guide.model_copy(update={"entries": tuple(entries)})

        self._change(pin_in_guide)

    def _change(self, change: Callable[[GuideDocument], GuideDocument]) -> None:
        try:
            crash_point("guide.before-lock")
            create_private_directory(self._directory)
            with self._hold_lock():
                if self._require_writer is not None:
                    self._require_writer()
                before = self.read_guide()
                after = change(before)
                if after != before:
                    self._replace_file(format_guide(after))
        except (OSError, LockTimeout) as error:
            raise EnvironmentProblem(f"the field guide {self.path} cannot be written: {error}") from error

    def _replace_file(self, content: bytes) -> None:
        """Write the file anew, and remove what processes left that died before their rename; under the lock."""
        for draft in self._directory.glob(f"{_DRAFT_PREFIX}*{DRAFT_SUFFIX}"):
            draft.unlink(missing_ok=True)
        with replace_durably(self.path, draft_prefix=_DRAFT_PREFIX) as file:
            file.write(content)
            file.flush()
            crash_point("guide.before-rename")
        crash_point("guide.after-rename")

    @contextmanager
    def _hold_lock(self) -> Iterator[None]:
        descriptor = wait_for_file_lock(self._directory / _LOCK_FILE, patience_s=_PATIENCE_S)
        with hold_descriptor(descriptor):
            yield


def require_entry(guide: GuideDocument, name: str) -> None:
    """Raise unless the guide holds an entry with this id.

    Raises:
        UsageProblem: it does not.
    """
    if all(entry.id != name for entry in guide.entries):
        ended = " (it has ended)" if name in guide.list_ended_ids() else ""
        raise UsageProblem(
            f"the field guide has no entry {name!r}{ended}: `orchestrate memory list` shows those it has"
        )


def write_repository_guide(root: Path, guide: GuideFile) -> Path:
    """Write a guide, and what the file in the checkout held, into that file; return its path. Blocks.

    Raises:
        EnvironmentProblem: one of the two cannot be read or written, or the file in the checkout is a link.
    """
    path = root / REPOSITORY_FILE
    if path.parent.is_symlink() or path.is_symlink():
        raise EnvironmentProblem(f"the field guide {path} cannot be written (it is a link): mend it, or move it away")
    try:
        held = parse_guide(path.read_bytes()) if path.exists() else NO_GUIDE
        merged = guide.merge_guide(held)
        path.parent.mkdir(exist_ok=True)
        write_durably(path, format_guide(merged), 0o666)
    except (OSError, ValueError) as error:
        raise EnvironmentProblem(
            f"the field guide {path} cannot be written ({error}): mend it, or move it away"
        ) from error
    return path
