"""Follow a run that an engine works on. The terminal is only a client: its end ends nothing but itself."""

import signal
import subprocess
import time
from pathlib import Path
from types import FrameType
from typing import Literal

from orchestrator.cli.journal_reader import open_run_journal
from orchestrator.cli.progress import ProgressWatcher, choose_watcher
from orchestrator.cli.run_lookup import has_live_engine
from orchestrator.cli.signal_handlers import handle_signals
from orchestrator.domain.commands.definitions import Stop
from orchestrator.domain.run.state import RunState
from orchestrator.errors import EnvironmentProblem, RunLocked
from orchestrator.journal.locations.run_lock import find_lock_owner
from orchestrator.journal.state.derivation import apply_read_event, derive_whole_state
from orchestrator.journal.storage.event_store import EventStore
from orchestrator.report.run.open_work import describe_open_work
from orchestrator.run_control.control import RunLocation, send_command, start_engine
from orchestrator.run_control.prepared_engine import PreparedEngine

_POLL_S = 0.1
_StopKind = Literal["drain", "interrupt", "terminate"]


class Detached(Exception):
    """The terminal went away, or its user left: the engine goes on."""

    def __init__(self, location: RunLocation, has_terminal: bool, is_stopping: bool = False) -> None:
        super().__init__()
        self.location = location
        self.has_terminal = has_terminal
        self.is_stopping = is_stopping


def start_background_engine(location: RunLocation, prepared: PreparedEngine | None = None) -> None:
    """Start an engine for a run, or take the `prepared` one, and wait only until it has taken the run.

    Raises:
        RunLocked: another engine works on the run.
        EnvironmentProblem: the engine ended at once.
    """
    if has_live_engine(location.directory):
        raise _build_locked_error(location)
    engine = start_engine(location, prepared=prepared)
    while not has_live_engine(location.directory):
        if engine.poll() not in (None, 0):
            raise EnvironmentProblem(
                f"the engine ended at once ({_format_exit(engine)}): {_read_last_log_line(location)}"
            )
        if engine.returncode == 0:
            return
        time.sleep(_POLL_S)


def follow_engine(
    location: RunLocation, *, outlives_us: bool = True, where: str = "", prepared: PreparedEngine | None = None
) -> RunState:
    """Start an engine for a run, or take the `prepared` one, follow it to where it stops, and return the state then.

    The engine `outlives_us` if this process dies, or stops then, too. `where` are the options with which other verbs
    find the run.

    Raises:
        RunLocked: another engine works on the run.
        EnvironmentProblem: the engine ended without a word in the journal.
        Detached: the terminal hung up, or Ctrl-C came a third time.
    """
    if has_live_engine(location.directory):
        raise _build_locked_error(location)
    with open_run_journal(location.directory) as store, choose_watcher(where) as watcher:
        engine, state = _Follower(location, store, watcher).follow_to_end(outlives_us, prepared)
    if engine.returncode == RunLocked.exit_code and (state.ended or state.paused) is None:
        raise _build_locked_error(location)
    if (state.ended or state.paused) is None or (engine.returncode or 0) < 0:
        raise EnvironmentProblem(
            f"the engine ended without a word ({_format_exit(engine)}): {_read_last_log_line(location)}; "
            f"nothing recorded is lost, go on with: orchestrate resume {location.directory.run}"
        )
    return state


class _Follower:
    """A reader that follows a journal as it grows."""

    def __init__(self, location: RunLocation, store: EventStore, watcher: ProgressWatcher) -> None:
        self._location = location
        self._store = store
        self._watcher = watcher
        self._state = derive_whole_state(store).state
        self._state.paused = None  # of an earlier engine
        self._interrupts = 0
        self._engine: int | None = None
        self._early_stops: list[tuple[_StopKind, str]] = []
        self._unannounced_stops: list[_StopKind] = []

    def follow_to_end(
        self, outlives_us: bool, prepared: PreparedEngine | None = None
    ) -> tuple["subprocess.Popen[bytes]", RunState]:
        """Start an engine and follow it to its end; return it and the state then."""
        self._watcher.on_run_opened(self._state)
        self._show_first_events()
        handlers = {
            signal.SIGINT: self._on_interrupt,
            signal.SIGTERM: self._on_terminate,
            signal.SIGHUP: self._on_hangup,
        }
        with handle_signals(handlers):
            engine = start_engine(self._location, outlives_us=outlives_us, prepared=prepared)
            self._engine = engine.pid
            for kind, by in self._early_stops:
                self._send_stop(kind, by)
            while True:
                has_ended = engine.poll() is not None
                self._read_new_events()
                self._announce_stops()
                self._watcher.on_tick()
                if has_ended:
                    return engine, self._state
                time.sleep(_POLL_S)

    def _show_first_events(self) -> None:
        """Show what a run that no engine has worked on yet begins with: its id, warnings, what was found."""
        if not self._state.epoch:
            for recorded in self._store.read_events():
                self._watcher.on_event_recorded(recorded)

    def _announce_stops(self) -> None:
        """Say what each signal does; not in its handler, as that may interrupt what draws."""
        while self._unannounced_stops:  # a signal may add one at any time
            self._watcher.show_message(_describe_stop(self._unannounced_stops.pop(0), self._state))

    def _read_new_events(self) -> None:
        for recorded in self._store.read_events(after=self._state.seq):
            apply_read_event(self._store.path, self._state, recorded)
            self._watcher.on_event_recorded(recorded)

    def _on_interrupt(self, _number: int, _frame: FrameType | None) -> None:
        """Finish what runs at the first Ctrl-C, stop at once at the second, leave the engine to itself at the third."""
        self._interrupts += 1
        if self._interrupts > 2:
            raise Detached(self._location, has_terminal=True, is_stopping=True)
        self._take_stop("drain" if self._interrupts == 1 else "interrupt", "Ctrl-C")

    def _on_terminate(self, _number: int, _frame: FrameType | None) -> None:
        self._take_stop("terminate", "SIGTERM")

    def _take_stop(self, kind: _StopKind, by: str) -> None:
        self._unannounced_stops.append(kind)
        self._send_stop(kind, by)

    def _send_stop(self, kind: _StopKind, by: str) -> None:
        if self._engine is None:
            self._early_stops.append((kind, by))  # it is only being started
            return
        send_command(self._location.directory, Stop(how=kind, process=self._engine), by=by)

    def _on_hangup(self, _number: int, _frame: FrameType | None) -> None:
        raise Detached(self._location, has_terminal=False)


def _describe_stop(kind: _StopKind, state: RunState) -> str:
    match kind:
        case "interrupt":
            return "Ctrl-C: stops at once; what was recorded is kept; Ctrl-C again leaves the engine to stop by itself"
        case "terminate":
            return "SIGTERM: stops at once; what was recorded is kept"
    work = describe_open_work(state)
    waiting = f"waits for {work} under way" if work else "nothing new begins"
    return f"Ctrl-C: stopping; {waiting}; Ctrl-C again stops at once, nothing is lost"


def _build_locked_error(location: RunLocation) -> RunLocked:
    return RunLocked(
        f"run {location.directory.run} is being worked on by {find_lock_owner(location.directory.path) or 'another'}"
    )


def _format_exit(engine: "subprocess.Popen[bytes]") -> str:
    code = engine.returncode
    return f"signal {-code}" if code is not None and code < 0 else f"exit {code}"


def _read_last_log_line(location: RunLocation) -> str:
    log: Path = location.directory.engine_log
    lines = log.read_text(errors="replace").strip().splitlines() if log.exists() else []
    return f"{lines[-1] if lines else 'it printed nothing'} (see {log})"
