"""The dashboard under load, against the bounds of the issue: how late its event loop is, what it costs, what it loses.

    python -m bench.tui [--seconds 10] [--rate 10000] [--workers 200]

A process appends events to a real journal; the dashboard, in a terminal of 160×48, watches it. Leaves with 1 if a
bound is broken, and says which: also if fewer events were appended than that is about. Times are judged by how long the
watcher itself was at work in them: on a machine that is busy with other things more passes by the clock, and that is
printed beside.
"""

import argparse
import fcntl
import json
import os
import pty
import resource
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple

import anyio

from orchestrator.domain.event import Event
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_reader import EventReader
from orchestrator.tui.actions import DashboardActions
from orchestrator.tui.app import Dashboard
from orchestrator.tui.panes.transcript import TranscriptPane
from orchestrator.tui.run_feed.feed import RunFeed, relax_garbage_collector
from orchestrator.tui.views.base_view import Subject
from tests.running.journals import LONGEST, Fleet, fleet_journal, write_batches

BOUNDS = {
    "lag p99, ms": 250.0,
    "CPU, % of a core": 60.0,
    "RSS growth, MB": 80.0,
    "events lost": 0.0,
    "open, s": 1.0,
    "find, s": 1.0,
    "to the end, ms": 100.0,
    "to the top, ms": 100.0,
    "RSS with all open, MB": 150.0,
}
"""What each may be at most. The last five are of a conversation of `LINES` lines."""
SIZE = (48, 160)
TURN = 10_000
LINES = 100_000
PAUSE_S = 0.02
PROBE_S = 0.01
SETTLE_S = 2.0
ENOUGH = 0.9
"""The share of the rate that must have been reached for the rest to prove anything."""


def write(place: Path, workers: int, rate: int, seconds: float) -> None:
    """The process that appends: it holds the run's lock, and tells how fast it was."""
    events = Fleet(place, workers, first_turn=TURN).works()
    begun, total = time.monotonic(), int(rate * seconds)
    with RunDirectory(place).hold_lock():
        write_batches(place, due(events, rate, total))
    print(total / (time.monotonic() - begun))


def due(events: Iterator[Event], rate: int, total: int) -> Iterator[list[Event]]:
    """What is to be written by now: as in an engine, all that came while the last batch was written is one batch."""
    begun, count = time.monotonic(), 0
    while count < total:
        time.sleep(PAUSE_S)
        batch = list(islice(events, min(int((time.monotonic() - begun) * rate), total) - count))
        count += len(batch)
        yield batch


class Took(NamedTuple):
    """Seconds that passed by the clock, and in which this process was at work: no more than those."""

    clock: float
    own: float


class Opened(NamedTuple):
    """Of the longest conversation: until its end was on the screen, all of it could be scrolled over, words in its last
    line were found from its first, its top and its end were reached by a key. `memory` is in MB, with all of it open.
    """

    opened: Took
    whole: Took
    searched: Took
    to_top: Took
    to_end: Took
    memory: float


class Watch:
    """Tells what something takes, from when it was made."""

    def __init__(self) -> None:
        self._begun, self._busy = time.monotonic(), time.process_time()

    def took(self, without: float = 0.0) -> Took:
        """What passed since, `without` so many seconds of sleep."""
        clock = time.monotonic() - self._begun - without
        return Took(clock, min(clock, time.process_time() - self._busy))


class Watcher(Dashboard):
    """The dashboard with a probe of its event loop."""

    def __init__(self, directory: RunDirectory, last: int, found: Path) -> None:
        self._feed, self._directory, self._last, self._found = RunFeed(directory), directory, last, found
        super().__init__(self._feed, DashboardActions(_nothing, _nothing, _nothing, _nothing))
        self._late: list[Took] = []

    async def on_mount(self) -> None:
        """Both this and the dashboard's own are called."""
        self.run_worker(self._measure())

    async def _measure(self) -> None:
        await self._until(
            lambda: self._feed.is_caught_up and self.view_model is not None and self.view_model.seq == self._seq
        )
        opened = await self._opened()
        await anyio.sleep(SETTLE_S)
        memory = rss_mb()
        self._found.with_suffix(".ready").touch()
        first = self._seq
        await self._until(lambda: self._seq > first)
        watch = Watch()
        self._late.clear()
        await self._until(lambda: self._seq >= self._last or self._is_left_alone)
        seconds, busy = watch.took()
        late, own = (sorted(kind) for kind in zip(*self._late, strict=True))
        await anyio.sleep(SETTLE_S)
        figures = {
            "lag p99, ms": own[len(own) * 99 // 100] * 1000,
            "CPU, % of a core": busy / seconds * 100,
            "RSS growth, MB": rss_mb() - memory,
            "events lost": self._last - (self.view_model.seq if self.view_model else 0),
            "open, s": opened.opened.own,
            "find, s": opened.searched.own,
            "to the end, ms": opened.to_end.own * 1000,
            "to the top, ms": opened.to_top.own * 1000,
            "RSS with all open, MB": opened.memory,
        }
        clock = {
            "lag p99, ms": late[len(late) * 99 // 100] * 1000,
            "open, s": opened.opened.clock,
            "find, s": opened.searched.clock,
            "to the end, ms": opened.to_end.clock * 1000,
            "to the top, ms": opened.to_top.clock * 1000,
        }
        more = {
            "lag p50, ms": own[len(own) // 2] * 1000,
            "most lag, ms": own[-1] * 1000,
            "seconds": seconds,
            "RSS, MB": rss_mb(),
            "CPU, µs/event": busy / max(self._last - first, 1) * 1e6,
            "all lines read, s": opened.whole.clock,
        }
        self._found.write_text(json.dumps([figures, clock, more]))
        self.exit()

    @property
    def _seq(self) -> int:
        moment = self._feed.get_view_model()
        return moment.seq if moment else 0

    @property
    def _is_left_alone(self) -> bool:
        """Whether nobody writes any more."""
        return self._feed.is_caught_up and self._feed.problem == "" and self._found.with_suffix(".written").exists()

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            watch = Watch()
            await anyio.sleep(PROBE_S)
            self._late.append(watch.took(without=PROBE_S))

    async def _opened(self) -> "Opened":
        """Open the longest conversation from outside, have all of it be scrolled over, find words in its last line."""
        watch = Watch()
        await self.view_stack.open_subject(Subject("session", LONGEST))
        self.update_from_source()
        view = self.view_stack.current_view
        pane = view.query_one(TranscriptPane) if view else TranscriptPane()
        await self._until(lambda: len(pane.pager.source) > 0)
        await self._painted()
        opened = watch.took()
        await self._until(lambda: pane.get_all_lines() is not None)
        whole = watch.took()
        everything = pane.get_all_lines()
        if everything is None or len(everything) < LINES:
            raise RuntimeError(f"not all of {LINES} lines were opened")
        pane.pager.show_text(everything, at_end=False)
        searched = await self._searched(pane)
        pane.pager.focus()
        to_top = await self._pressed("g", lambda: pane.pager.cursor == 0)
        to_end = await self._pressed("G", lambda: pane.pager.cursor == len(everything) - 1)
        memory = rss_mb()
        await self.action_back()
        return Opened(opened, whole, searched, to_top, to_end, memory)

    async def _searched(self, pane: TranscriptPane) -> Took:
        watch = Watch()
        pane.pager.find_text(f"line {LINES - 1}: ")
        await self._until(lambda: pane.pager.search_position is not None)
        if pane.pager.search_position is None or pane.pager.search_position.total != 1:
            raise RuntimeError(f"the last line was not found: {pane.pager.search_position}")
        return watch.took()

    async def _pressed(self, key: str, is_there: Callable[[], bool]) -> Took:
        """What passes from a key until what it leads to is on the screen."""
        watch = Watch()
        self.simulate_key(key)
        await self._until(is_there)
        await self._painted()
        return watch.took()

    async def _painted(self) -> None:
        painted = anyio.Event()
        self.call_after_refresh(painted.set)
        await painted.wait()


def _nothing(*_given: object) -> Any:  # noqa: ANN401 - of whatever kind is asked for
    """Nobody acts here."""


def rss_mb() -> float:
    """What this process holds of memory at present."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 1e6


Figures = dict[str, float]


def measured(workers: int, rate: int, seconds: float) -> tuple[Figures, Figures, Figures]:
    """What the watcher measured: what is judged, of times what passed by the clock, and what else is told."""
    with tempfile.TemporaryDirectory() as scratch:
        directory = fleet_journal(Path(scratch, "run"), workers, LINES)
        with closing(EventReader.open_reader(directory.journal)) as reader:
            last = reader.read_last_seq() + int(rate * seconds)
        found = Path(scratch, "found.json")
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *SIZE, 0, 0))
        shown = deque[bytes](maxlen=4)
        Thread(target=_drain, args=(master, shown), daemon=True).start()
        watch = [sys.executable, "-m", "bench.tui", "--watch", str(directory.path)]
        watch += ["--last", str(last), "--found", str(found)]
        environ = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
        with subprocess.Popen(watch, stdin=slave, stdout=slave, stderr=slave, env=environ) as watcher:
            while not found.with_suffix(".ready").exists() and watcher.poll() is None:
                time.sleep(0.1)
            append = [sys.executable, "-m", "bench.tui", "--write", str(directory.path), "--rate", str(rate)]
            append += ["--seconds", str(seconds), "--workers", str(workers)]
            done = subprocess.run(append, capture_output=True, text=True, check=True)
            found.with_suffix(".written").touch()
        if not found.exists():
            last_words = b"".join(shown).decode(errors="replace")[-3_000:]
            sys.exit(
                f"the watcher left with {watcher.returncode} before it had measured; it showed last: {last_words!r}"
            )
        figures, clock, more = json.loads(found.read_text())
        return figures, clock, more | {"events/s": float(done.stdout)}


def _drain(terminal: int, shown: deque[bytes]) -> None:
    """What the terminal shows; nobody looks, unless the watcher dies."""
    with suppress(OSError):
        while some := os.read(terminal, 65_536):
            shown.append(some)


def main() -> None:
    """Measure, print a table, judge; or be one of the two processes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rate", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--watch", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--last", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--found", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write:
        write(given.write, given.workers, given.rate, given.seconds)
    elif given.watch:
        relax_garbage_collector()
        watcher = Watcher(RunDirectory(given.watch), given.last, given.found)
        watcher.run()
        if watcher.crash_error is not None:
            raise watcher.crash_error
    else:
        judge(*measured(given.workers, given.rate, given.seconds), given.rate)


def judge(figures: Figures, clock: Figures, more: Figures, rate: int) -> None:
    """Print what was measured beside its bounds; leave with 1 and say which, if one is broken."""
    reached, least = more.pop("events/s"), ENOUGH * rate
    print(", ".join(f"{what} {value:,.1f}" for what, value in more.items()))
    print(f"{'what':22} {'measured':>10} {'by clock':>10} {'bound':>10} {'ratio':>6}")
    print(f"{'events/s appended':22} {reached:10,.0f} {'':10} {f'≥ {least:,.0f}':>10} {reached / least:6.2f}")
    for what, value in figures.items():
        bound, told = BOUNDS[what], f"{clock[what]:10.2f}" if what in clock else ""
        print(f"{what:22} {value:10.2f} {told:10} {f'≤ {bound:.0f}':>10} {value / bound if bound else value:6.2f}")
    broken = [what for what, value in figures.items() if value > BOUNDS[what]]
    if reached < least:
        print(f"not proven: this machine is too busy to append {least:,.0f} events a second, so all this is of fewer")
    if broken:
        print(f"broken: {', '.join(broken)}")
    sys.exit(1 if broken or reached < least else 0)


if __name__ == "__main__":
    main()
