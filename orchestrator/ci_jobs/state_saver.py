"""Save the state from time to time while an engine works, so that the death of a job costs little."""

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Literal, Self

import anyio

from orchestrator.ci.remote_state import StateSuperseded
from orchestrator.ci_jobs.job import CiJob, save_run_state, send_heartbeat
from orchestrator.domain.event.landing import LandingFinished
from orchestrator.errors import JournalProblem, OrchestrateError
from orchestrator.journal.storage.event_reader import EventReader
from orchestrator.run_control.control import RunLocation
from worktrees.errors import GitError

_POLL_S = 0.5
_BEATS = 3
"""Signs of life within the time after which a job without one counts as dead."""
SaveKind = Literal["state", "lease"]
_SHARE = 4
"""A save that took so long is followed by this many times as long without one."""


@dataclass
class SaveSchedule:
    """Times are in seconds of one monotonic clock.

    `every_s` is the longest time that something new waits, `beat_s` the longest time without a sign of life.
    """

    every_s: float
    heartbeat_s: float
    saved_at: float
    paused_until: float = 0.0
    heartbeat_at: float = 0.0

    def choose_save(self, now: float, *, is_news: bool, has_landed: bool) -> SaveKind | None:
        """Return what is to be left now.

        Args:
            now: the time.
            is_news: something was recorded since the state was last left.
            has_landed: and a landing is among it.
        """
        if now >= self.paused_until and is_news and (has_landed or now - self.saved_at >= self.every_s):
            return "state"
        if now - self.heartbeat_at >= self.heartbeat_s:
            return "lease"
        return None

    def record_save(self, what: SaveKind, begun: float, now: float) -> None:
        """Record that the state was left, or could not be."""
        self.heartbeat_at = now
        if what == "state":
            self.saved_at, self.paused_until = now, now + _SHARE * (now - begun)


class StateSaver:
    """A thread that saves the state of a job's run; to be used as a context manager.

    A save that fails is tried again later. If another job has saved a state, this one has lost the key: `superseded`
    holds the error, and this process gets a SIGTERM.
    """

    def __init__(self, job: CiJob, location: RunLocation, every_s: float, print_message: Callable[[str], None]) -> None:
        self.superseded: StateSuperseded | None = None
        self._job, self._location, self._print_message = job, location, print_message
        now = time.monotonic()
        self._schedule = SaveSchedule(every_s, job.request.stale_s / _BEATS, saved_at=now - every_s, heartbeat_at=now)
        self._seq, self._kept, self._landed = 0, 0, 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._save_until_over, name="keeper")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _save_until_over(self) -> None:
        while not self._is_over.wait(_POLL_S) and self.superseded is None:
            with suppress(JournalProblem):  # whoever follows the engine tells of it
                self._read_progress()
            has_news, has_landed = self._seq > self._kept, self._landed > self._kept
            due = self._schedule.choose_save(time.monotonic(), is_news=has_news, has_landed=has_landed)
            if due:
                self._save(due)

    def _read_progress(self) -> None:
        with EventReader.open_reader(self._location.directory.journal) as reader:
            landings = reader.read_kinds([LandingFinished.model_fields["kind"].default], after=self._landed)
            self._landed = max((landing.seq for landing in landings), default=self._landed)
            self._seq = reader.read_last_seq()

    def _save(self, due: SaveKind) -> None:
        started_at, seq = time.monotonic(), self._seq
        try:
            if due == "state":
                anyio.run(save_run_state, self._job, self._location)
                self._kept = seq
            else:
                anyio.run(partial(send_heartbeat, self._job))
        except StateSuperseded as error:
            self.superseded = error
            os.kill(os.getpid(), signal.SIGTERM)
        except (OrchestrateError, GitError, OSError) as error:
            self._print_message(f"warning: the state could not be left for the next job: {error}; this is tried again")
        self._schedule.record_save(due, started_at, time.monotonic())
