"""Several command lines in one sandbox, each on a file of its own, as if each had had the sandbox to itself.

A small program for the sandbox's shell runs one line after the other. Around each it puts the file's given content in
place, keeps what the line printed and made of the file, puts the original back, and clears what was left in temporary
directories and the home. A process that is left behind, or anything it cannot put right, ends the whole batch. What a
line changes beside its file is not looked for here: whoever gives the batch compares the workspace afterwards.
"""

import base64
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil
from pathlib import Path

from orchestrator.domain.event.run import Noticed
from orchestrator.domain.recipe.step import TransformStep
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.listing import join_limited
from orchestrator.engine.context import RunContext
from orchestrator.hands.sandbox.worlds import EXCHANGE_FOLDERS
from orchestrator.ports.hands import ShellCommand

WRITABLE_PLACES = '/tmp "$TMPDIR" "$HOME" /dev/shm'
"""Where commands may write beside the workspace; a sandbox of one's own has them empty."""
_DIARY = "ORCHESTRATE_BATCH"
_MOST_CHARS = 100_000
"""Of a script: the kernel takes 131,072 bytes as one argument."""
MAX_CONTENT_BYTES = 8 * 1024 * 1024
"""Of the contents in one batch, together."""

_PROLOGUE = Path(__file__).with_name("batch_prologue.sh")
"""What defines `_ob_run`; between two @ stand the names of what is put in."""
_RECORD = compile_lazily(r"(\d+) (\d+) (file|gone) (\d+(?:\.\d+)?) (\d+(?:\.\d+)?)")
_EPILOGUE = """_ob_look
[ "$_ob_found" = "$_ob_known" ] || exit 93
echo end >> "$_ob_dir/diary"
"""


_AIM_S = 8.0
_MOST = 64
_FIRST = 4
_WEIGHT = 0.3
_SHOWN = 8


@dataclass(frozen=True)
class FileCommand:
    """One command line and the file it is for; `content` is put into the file before, None leaves what stands there."""

    path: str
    line: str
    content: bytes | None = None


@dataclass(frozen=True)
class FileCommandResult:
    """The result of one line: the shell's exit code, what it printed, and the file's content, None if that is gone."""

    exit_code: int
    seconds: float
    printed: bytes
    content: bytes | None


def count_fitting(lines: Sequence[FileCommand]) -> int:
    """Return how many of the lines, from the first on, fit into one batch; at least one."""
    room, size = _MOST_CHARS - len(_read_prologue()) - 60 * len(lines), MAX_CONTENT_BYTES
    for count, line in enumerate(lines):
        room -= 2 * len(shlex.quote(line.line)) + 2 * len(line.path.encode()) + 60
        size -= len(line.content or b"")
        if room < 0 or size < 0:
            return max(1, count)
    return max(1, len(lines))


@cache
def _read_prologue() -> str:
    return _PROLOGUE.read_text(encoding="utf-8")


def build_batch_command(lines: Sequence[FileCommand], timeout_s: float) -> ShellCommand:
    """Return the command that runs the lines one after the other, each for at most `timeout_s` seconds."""
    variables = {_DIARY: "diary"}
    for number in range(len(lines)):
        variables |= {f"{_DIARY}_{number}_SAID": f"said.{number}", f"{_DIARY}_{number}_MADE": f"made.{number}"}
    words = {
        "diary": _DIARY,
        "variables": " ".join(variables),
        "places": WRITABLE_PLACES,
        "timeout": f"{timeout_s:.3f}",
    }
    words["exchanges"] = "|".join(EXCHANGE_FOLDERS)
    prologue = re.sub(r"@(\w+)@", lambda match: words[match[1]], _read_prologue())
    given, runs = b"", []
    for number, line in enumerate(lines):
        size = -1 if line.content is None else len(line.content)
        runs.append(f"_ob_run {number} {shlex.quote(line.path)} {shlex.quote(line.line)} {len(given)} {size}\n")
        given += line.content or b""
    return ShellCommand(
        line="".join((prologue, *runs, _EPILOGUE)),
        timeout_s=len(lines) * (timeout_s + 5) + 30,
        files=variables,
        stdin=base64.encodebytes(given).decode(),
    )


def parse_batch_results(files: Mapping[str, bytes], count: int) -> list[FileCommandResult] | None:
    """Return what a batch of `count` lines did, from the files it wrote; None if it did not get to its end."""
    records = files.get(_DIARY, b"").decode("utf-8", "replace").splitlines()
    if len(records) != count + 1 or records[-1] != "end":
        return None
    results = []
    for number, record in enumerate(records[:-1]):
        if (result := _parse_record(files, number, record)) is None:
            return None
        results.append(result)
    return results


def _parse_record(files: Mapping[str, bytes], number: int, record: str) -> FileCommandResult | None:
    matched = _RECORD.fullmatch(record)
    printed = files.get(f"{_DIARY}_{number}_SAID")
    content = files.get(f"{_DIARY}_{number}_MADE")
    if matched is None or int(matched[1]) != number or printed is None or (content is None) != (matched[3] == "gone"):
        return None
    seconds = max(0.0, float(matched[5]) - float(matched[4]))
    return FileCommandResult(int(matched[2]), seconds, printed, content)


class BatchSizer:
    """The sizes of one step's batches; several workers ask for them and tell how long theirs took.

    A batch takes some seconds of work, by what files took so far. Files of a step that was seen to change more than its
    own file never share one.

    Args:
        slots: how many workers share what is left.
        is_allowed: False if every file has a sandbox of its own.
    """

    def __init__(self, slots: int, is_allowed: bool = True) -> None:
        self._slots = max(1, slots)
        self._seconds: float | None = None
        self.is_allowed = is_allowed
        self.strays: set[str] = set()
        """Paths that command lines changed beside their own files."""

    def choose_size(self, waiting: int) -> int:
        """Return how many of the waiting files the next batch takes, at least one."""
        if not self.is_allowed:
            return 1
        wanted = _FIRST if self._seconds is None else round(_AIM_S / max(self._seconds, _AIM_S / _MOST))
        return max(1, min(wanted, _MOST, ceil(waiting / self._slots)))

    def record_duration(self, seconds: float, files: int) -> None:
        """Record that so many files took so many seconds together; later ones count for more."""
        seconds_each = seconds / max(1, files)
        if self._seconds is not None:
            seconds_each = (1 - _WEIGHT) * self._seconds + _WEIGHT * seconds_each
        self._seconds = seconds_each

    def disable_batches(self) -> bool:
        """Give every file a sandbox of its own from now on; return True if that is new."""
        was_allowed, self.is_allowed = self.is_allowed, False
        return was_allowed


def can_batch(context: RunContext, step: TransformStep) -> bool:
    """Return True if several files may share a sandbox.

    They may not without walls, nor for a step that was seen to change more than its own file.
    """
    if context.state.is_unsafe:
        return False
    codes = {NoticeCode.SIDE_EFFECTS, NoticeCode.NO_BATCHES}
    return not any(notice.code in codes and notice.subject == step.id for notice in context.state.notices)


async def record_side_effects(context: RunContext, step: TransformStep, batches: BatchSizer) -> None:
    """Write a notice of the files that a step changed beside its own, or else of why its files share no sandbox."""
    if batches.strays:
        paths = tuple(sorted(batches.strays))
        text = f"step {step.id} also changed {join_limited(paths, _SHOWN)}; that was left out"
        if step.takes_tree:
            text += ": files that are outside of [scope], new or gone do not land"
        code = NoticeCode.SIDE_EFFECTS
        await context.journal.append(
            Noticed(level="warning", text=text, code=code, subject=step.id, paths=paths[:_SHOWN])
        )
    elif not batches.is_allowed and can_batch(context, step):
        reason = "files that share one left something behind, or something was missing in it (timeout, find, base64)"
        text = f"step {step.id} has a sandbox for each file: {reason}"
        await context.journal.append(Noticed(level="info", text=text, code=NoticeCode.NO_BATCHES, subject=step.id))
