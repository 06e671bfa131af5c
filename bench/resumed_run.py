"""Resume a killed run in this process, and print how long it takes to the first action: a part of `bench.resume`.

    python -m bench.resumed_run SCRATCH

It ends as if it was killed, so that the next one finds the run as this one did.
"""

import json
import os
import sys
import time
from pathlib import Path

import anyio

from orchestrator.app.run_execution import resume_run
from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.event.run import EngineStarted
from orchestrator.domain.event.work import AttemptStarted, PlanningStarted, WorkspaceLeasing
from orchestrator.domain.run.state import RunState
from orchestrator.project.options import Options

_FIRST: tuple[type[Event], ...] = (AttemptStarted, PlanningStarted, WorkspaceLeasing)
"""The events that actions record first."""


class FirstActionWatch:
    """Watches a run that is resumed, and ends the process at its first action."""

    def __init__(self) -> None:
        self._begun_s, self._begun_cpu_s = time.monotonic(), time.process_time()
        self._figures: dict[str, float] = {}

    def on_run_opened(self, state: RunState) -> None:
        """Note that the state is there."""
        self._figures["state, s"] = time.monotonic() - self._begun_s

    def on_event_recorded(self, recorded: RecordedEvent) -> None:
        """Note how long it took to this event; end the process if an action recorded it."""
        if isinstance(recorded.event, EngineStarted):
            self._figures["journal taken over, s"] = time.monotonic() - self._begun_s
        elif isinstance(recorded.event, _FIRST):
            self._figures["first action, s"] = time.monotonic() - self._begun_s
            self._figures["CPU, s"] = time.process_time() - self._begun_cpu_s
            print(json.dumps(self._figures), flush=True)
            os._exit(0)


if __name__ == "__main__":
    scratch = Path(sys.argv[1])
    options = Options(scratch / "repository", {"state": {"dir": str(scratch / "state")}})
    ended = anyio.run(resume_run, options, None, FirstActionWatch())
    sys.exit(f"the run ended before its first action: {ended.error or ended.state.ended}")
