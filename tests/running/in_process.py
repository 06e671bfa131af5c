"""The `orchestrate` command within the test's own process: the same words, streams and exit codes in less time.

For tests in which no signal, lock, terminal or death of a process matters; all others take `tests.running.cli`. The
engine that a verb follows works within this process too; one that is to outlive its verb has a process of its own.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

import anyio
import pytest

from orchestrator.cli import engine_follower, main, output
from orchestrator.cli.run import start
from orchestrator.run_control.control import RunLocation, start_engine
from orchestrator.run_control.prepared_engine import PreparedEngine
from tests.running.cli import Finished, environment
from tests.running.selftests import shared_self_test

_LEFT_ALONE: list["subprocess.Popen[bytes]"] = []
"""Engines that outlive their verb: the process of a verb ends without looking back at them."""


def orchestrate(*words: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> Finished:
    """Run the command to its end, with an empty standard input; from async tests only verbs that follow no engine."""
    streams = TextIOWrapper(BytesIO(), "utf-8"), TextIOWrapper(BytesIO(), "utf-8")
    with chdir(cwd), _process_state(env or environment(cwd)), shared_self_test():
        code = _run_outside_loop([*map(str, words)], *streams)
    out, err = (_text(stream) for stream in streams)
    return Finished(code, out, err)


@dataclass(frozen=True)
class _EndedEngine:
    """What is left of an engine that has worked on a run to its end."""

    returncode: int
    pid: int

    def poll(self) -> int:
        return self.returncode


class _NoPreparedEngine(PreparedEngine):
    """None is prepared: an engine works in this process."""

    def __init__(self, *_places: object) -> None:
        self._process = None


def _start_engine(place: RunLocation, *, outlives_us: bool | None = None, prepared: object = None) -> Any:
    """Have an engine that is followed work at once; `start_background_engine` does not say whether it outlives us."""
    if outlives_us is None:
        _LEFT_ALONE.append(start_engine(place))
        return _LEFT_ALONE[-1]
    where = ("--repo", str(place.repository.root), "--state", str(place.state.path.parent))
    with place.directory.engine_log.open("a", encoding="utf-8") as log:
        code = _run(("engine", place.directory.run, *where), log, log)
    return _EndedEngine(code, os.getpid())


def _run_outside_loop(words: Sequence[str], out: TextIO, err: TextIO) -> int:
    """Run the command where it may start an event loop of its own."""
    try:
        anyio.get_current_task()
    except RuntimeError:  # no loop
        return _run(words, out, err)
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(_run, words, out, err).result()


def _run(words: Sequence[str], out: TextIO, err: TextIO) -> int:
    """Run the command with these streams; gives its exit code, 1 where it crashed."""
    with pytest.MonkeyPatch.context() as patch, Path(os.devnull).open(encoding="utf-8") as nothing:
        for name, stream in (("stdin", nothing), ("stdout", out), ("stderr", err)):
            patch.setattr(sys, name, stream)
        patch.setattr(sys, "excepthook", sys.excepthook)  # is set back afterwards
        output._load_redactor.cache_clear()
        try:
            main.main(list(words))
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else int(end.code is not None)
        except Exception as error:  # noqa: BLE001 - `sys.excepthook` gets whatever it is
            output.print_crash(type(error), error, error.__traceback__)
            return 1
        finally:
            output._load_redactor.cache_clear()


@contextmanager
def _process_state(env: Mapping[str, str]) -> Iterator[None]:
    """Another environment, and what is done to a process only once."""
    before = dict(os.environ)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(main, "protect_process", lambda: None)
        patch.setattr(engine_follower, "start_engine", _start_engine)
        patch.setattr(start, "PreparedEngine", _NoPreparedEngine)
        try:
            os.environ.clear()
            os.environ.update(env)
            yield
        finally:
            os.environ.clear()
            os.environ.update(before)


def _text(stream: TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode()  # type: ignore[attr-defined]
