"""One case in a process of its own: what it does is bounded, and nothing of it is left."""

import ctypes
import faulthandler
import json
import os
import re
import resource
import select
import shutil
import signal
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

MEMORY_BYTES = 3 * 1024**3
WALL_S = 20.0
_PR_SET_CHILD_SUBREAPER = 36
_GRACE_S = 0.3
_FRAME = re.compile(r'File "([^"]+)", line (\d+),? in (\S+)')
_HOUSE = re.compile(r".*/(?=(?:orchestrator|worktrees|roles|prompts)/)")


class Refuted(Exception):
    """A case did what it may not do; the text says what it was."""


@dataclass(frozen=True)
class Failure:
    """The failure of a case. Failures with the same `signature` have the same cause, as far as can be told."""

    signature: str
    text: str


def adopt_orphans() -> None:
    """Make this process the parent of whatever its cases leave behind, so that it can be ended."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def run_apart(work: Callable[[], None], place: Path, wall_s: float = WALL_S) -> Failure | None:
    """Do something in a process of its own; `place` is where its stack is written if it takes too long."""
    stacks = place / "stacks.txt"
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        _work_as_child(work, writer, stacks)
    os.close(writer)
    said = _read_to_end(reader, time.monotonic() + wall_s)
    os.close(reader)
    if said is None:
        os.kill(child, signal.SIGUSR1)
        time.sleep(_GRACE_S)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    _end_orphans()
    if said is None:
        stack = stacks.read_text() if stacks.exists() else ""
        return Failure(f"took longer than {wall_s:g} s in {_find_place(stack, is_innermost_first=True)}", stack)
    if said:
        found = json.loads(said)
        return Failure(found["signature"], found["text"])
    if status:
        return Failure(f"died with wait status {status}", stacks.read_text() if stacks.exists() else "")
    return None


def _work_as_child(work: Callable[[], None], writer: int, stacks: Path) -> NoReturn:
    os.setsid()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, hard))
    with stacks.open("w") as file:
        faulthandler.enable(file)
        faulthandler.register(signal.SIGUSR1, file, all_threads=True)
        try:
            work()
        except Refuted as error:
            _tell(writer, describe_output(str(error)))
        except BaseException as error:  # noqa: BLE001  whatever it is, it was not expected
            _tell(writer, describe_output("".join(traceback.format_exception(error))))
        os._exit(0)


def _tell(writer: int, failure: Failure) -> None:
    content = json.dumps({"signature": failure.signature, "text": failure.text}).encode()
    while content:
        content = content[os.write(writer, content) :]


def describe_output(text: str) -> Failure:
    """Return the failure that a traceback, or a text of another kind, stands for."""
    lines = text.strip().splitlines() or [""]
    if "\nTraceback (most recent call last)" in text:
        text = text[text.rindex("\nTraceback (most recent call last)") :].strip()
        lines = text.splitlines()
    if "Traceback (most recent call last)" not in text:
        return Failure(re.sub(r"\d+", "N", lines[0])[:160], text)
    last = next((line for line in reversed(lines) if line[:1].isalpha() and not line.startswith("Trace")), lines[-1])
    return Failure(f"{last.partition(':')[0][:80]} in {_find_place(text)}", text)


def _find_place(text: str, *, is_innermost_first: bool = False) -> str:
    """Return the innermost place in the product's code that a stack shows, else the innermost of all."""
    frames = _FRAME.findall(text)
    if not is_innermost_first:
        frames.reverse()
    own = [frame for frame in frames if _HOUSE.match(frame[0])]
    for path, _, function in own or frames:
        return f"{_HOUSE.sub('', path)}:{function}"
    return "?"


def _read_to_end(reader: int, until: float) -> bytes | None:
    """Return what is written until the other side ends; None if it has not ended in time."""
    parts: list[bytes] = []
    while True:
        ready, _, _ = select.select([reader], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            return None
        part = os.read(reader, 65_536)
        if not part:
            return b"".join(parts)
        parts.append(part)


def _end_orphans() -> None:
    """End what the case has started and left behind; it has become a child of this process."""
    for _ in range(20):
        try:
            text = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
        except OSError:
            return
        children = [int(word) for word in text.split()]
        if not children:
            return
        for child in children:
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)


def renew_directory(place: Path, source: Path | None = None) -> Path:
    """Return the directory, empty or as a copy of another one."""
    shutil.rmtree(place, ignore_errors=True)
    if source is None:
        place.mkdir(parents=True)
    else:
        shutil.copytree(source, place, symlinks=True)
    return place
