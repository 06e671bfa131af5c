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
from math import ceil

from orchestrator.domain.event.run import Noticed
from orchestrator.domain.recipe.step import TransformStep
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.listing import join_limited
from orchestrator.engine.context import RunContext
from orchestrator.hands.sandbox.filesystem_layout import EXCHANGE_FOLDER
from orchestrator.ports.hands import ShellCommand

WRITABLE_PLACES = '/tmp "$HOME" /dev/shm'
"""Where commands may write beside the workspace; a sandbox of one's own has them empty."""
_DIARY = "ORCHESTRATE_BATCH"
_MOST_CHARS = 100_000
"""Of a script: the kernel takes 131,072 bytes as one argument."""
MAX_CONTENT_BYTES = 8 * 1024 * 1024
"""Of the contents in one batch, together."""

_PROLOGUE = """_ob_dir=${{{diary}%/*}}
unset {variables}
[ "$_ob_dir" = {exchange} ] && [ "$HOME" != / ] || exit 90
for _ob_tool in timeout cp mv rm find base64 tail head sleep; do
  command -v "$_ob_tool" >/dev/null || exit 90
done
_ob_nl='
'
_ob_count() {{ set -- /proc/[0-9]*; _ob_procs=$#; }}
_ob_glance() {{
  _ob_seen=
  for _ob_place in {places}; do
    set -- "$_ob_place"/* "$_ob_place"/.[!.]*
    _ob_seen="$_ob_seen$_ob_nl$*"
  done
}}
_ob_look() {{ _ob_found=$(find {places} -xdev -mindepth 1 2>/dev/null); }}
_ob_clear() {{
  while IFS= read -r _ob_one; do
    case "$_ob_nl$_ob_known$_ob_nl" in
      *"$_ob_nl$_ob_one$_ob_nl"*) ;;
      *) case "$_ob_one" in /*) rm -rf -- "$_ob_one" ;; esac ;;
    esac
  done <<_ob_end
$_ob_found
_ob_end
  _ob_look
  [ "$_ob_found" = "$_ob_known" ] || exit 93
  _ob_glance
}}
_ob_alone() {{
  _ob_count
  for _ob_wait in 0.02 0.1 0.3; do
    [ "$_ob_procs" -le "$_ob_usual" ] && return 0
    sleep "$_ob_wait"
    _ob_count
  done
  [ "$_ob_procs" -le "$_ob_usual" ] || exit 92
}}
_ob_run() {{
  read -r _ob_begun _ob_rest < /proc/uptime
  cp -pf -- "$2" "$_ob_dir/kept" || exit 91
  if [ "$5" -ge 0 ]; then
    tail -c "+$(($4 + 1))" "$_ob_dir/given" | head -c "$5" > "$2" || exit 91
  fi
  timeout -s KILL {timeout} "$SHELL" -c "$3" > "$_ob_dir/said.$1" 2>&1 < /dev/null
  _ob_code=$?
  read -r _ob_ended _ob_rest < /proc/uptime
  if [ -f "$2" ] && [ ! -h "$2" ]; then
    mv -- "$2" "$_ob_dir/made.$1" || exit 91
    _ob_kind=file
  else
    rm -rf -- "$2"
    _ob_kind=gone
  fi
  cp -p -- "$_ob_dir/kept" "$2" || exit 91
  _ob_alone
  _ob_glance
  if [ "$_ob_seen" != "$_ob_usually" ]; then
    _ob_look
    _ob_clear
  fi
  echo "$1 $_ob_code $_ob_kind $_ob_begun $_ob_ended" >> "$_ob_dir/diary"
}}
: > "$_ob_dir/given"
base64 -d > "$_ob_dir/given" || exit 91
_ob_count
_ob_usual=$_ob_procs
_ob_look
_ob_known=$_ob_found
_ob_glance
_ob_usually=$_ob_seen
"""
_RECORD = re.compile(r"(\d+) (\d+) (file|gone) (\d+(?:\.\d+)?) (\d+(?:\.\d+)?)")
_EPILOGUE = """_ob_look
[ "$_ob_found" = "$_ob_known" ] || exit 93
echo end >> "$_ob_dir/diary"
"""


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
    room, size = _MOST_CHARS - len(_PROLOGUE) - 60 * len(lines), MAX_CONTENT_BYTES
    for count, line in enumerate(lines):
        room -= 2 * len(shlex.quote(line.line)) + 2 * len(line.path.encode()) + 60
        size -= len(line.content or b"")
        if room < 0 or size < 0:
            return max(1, count)
    return max(1, len(lines))


def build_batch_command(lines: Sequence[FileCommand], timeout_s: float) -> ShellCommand:
    """Return the command that runs the lines one after the other, each for at most `timeout_s` seconds."""
    variables = {_DIARY: "diary"}
    for number in range(len(lines)):
        variables |= {f"{_DIARY}_{number}_SAID": f"said.{number}", f"{_DIARY}_{number}_MADE": f"made.{number}"}
    words = {"diary": _DIARY, "variables": " ".join(variables), "exchange": EXCHANGE_FOLDER, "places": WRITABLE_PLACES}
    prologue = _PROLOGUE.format(**words, timeout=f"{timeout_s:.3f}")
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
        result = _parse_record(files, number, record)
        if result is None:
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


def has_notice(state: RunState, code: NoticeCode, subject: str) -> bool:
    """Return True if a notice of this code about this step or check has been written."""
    return any(notice.code == code and notice.subject == subject for notice in state.notices)


_AIM_S = 8.0
_MOST = 64
_FIRST = 4
_WEIGHT = 0.3
_SHOWN = 8


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
    codes = (NoticeCode.SIDE_EFFECTS, NoticeCode.NO_BATCHES)
    return not any(has_notice(context.state, code, step.id) for code in codes)


async def record_side_effects(context: RunContext, step: TransformStep, batches: BatchSizer) -> None:
    """Write a notice of the files that a step changed beside its own, or else of why its files share no sandbox."""
    if batches.strays:
        paths = tuple(sorted(batches.strays))
        text = f"step {step.id} also changed {join_limited(paths, _SHOWN)}; that was left out"
        code = NoticeCode.SIDE_EFFECTS
        await context.journal.append(
            Noticed(level="warning", text=text, code=code, subject=step.id, paths=paths[:_SHOWN])
        )
    elif not batches.is_allowed and can_batch(context, step):
        reason = "files that share one left something behind, or something was missing in it (timeout, find, base64)"
        text = f"step {step.id} has a sandbox for each file: {reason}"
        await context.journal.append(Noticed(level="info", text=text, code=NoticeCode.NO_BATCHES, subject=step.id))
