"""Measure what a run costs that has grown: one event, one look at what is due, and the resume after a kill.

    python -m bench.resume
    BENCH_EVENTS=100000 TASKS=100,1000,10000 python -m bench.resume

A run of one slice takes place first, with real git, sandbox, gate and a scripted model. Its journal is what larger ones
are made of (see `bench.large_journal`). Of each size a quarter of the tasks has landed, the others wait. Then one slice
more is planned and worked on: measured is the CPU time of its events, and of a look at what is due after each of them
that ends something.

The resume is that of a killed run of `BENCH_EVENTS` events, in a process of its own: the time from the opening of its
journal to the first action that the engine begins. Its snapshot is as old as an engine lets it become.
"""

import gc
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path

import anyio

from bench.large_journal import REAL_SLICE, RunParts, cut_run, record_events, split_run
from bench.measuring import Bar, Round, report_rounds, require_quiet_machine, run_printing, run_rounds
from orchestrator.app.run_execution import GC_THRESHOLDS, RunExit, run_goal
from orchestrator.domain.event import Event, RecordedEvent, landing, work
from orchestrator.domain.fold.projection import apply_recorded_event
from orchestrator.domain.run.state import RunState
from orchestrator.engine.goal.goal_schedule import GoalSchedule
from orchestrator.engine.goal.schedule import ScheduleLimits
from orchestrator.journal.event_redaction import redact_event
from orchestrator.journal.maintenance import MAX_SNAPSHOT_INTERVAL
from orchestrator.journal.state import snapshot
from orchestrator.journal.storage.event_store import EventStore, read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.project.options import Options
from orchestrator.redact.redactor import PATTERN_REDACTOR
from orchestrator.report.run.status_projection import StatusProjection
from tests.running.projects import calculator, git
from tests.running.scripts import judges, planner_ends, plans, reviews, worker_ends, write_script, writes

SLICE = CHAIN = 20
START = datetime(2026, 1, 1, tzinfo=UTC)
WAKING = (
    work.AttemptEnded, work.VerdictGiven, work.PlanSubmitted, work.PlanKept, work.PlanningEnded, work.TaskEnded,
    work.SessionEnded, landing.LandingFinished, landing.UnitEjected,
)  # fmt: skip
"""The events that end something, after which the engine looks at what is due."""
LIMITS = ScheduleLimits(16, 3, freeze_after=3)
MOST_GROWTH, MOST_RESUME_S = 2.0, 1.0


def main() -> int:
    """Measure, print a table; return 1 if a figure is past its bound."""
    require_quiet_machine()
    sizes = [int(size) for size in os.environ.get("TASKS", "100,1000,10000").split(",")]
    events = int(os.environ.get("BENCH_EVENTS", "100000"))
    with tempfile.TemporaryDirectory(prefix="orchestrate-bench-") as scratch:
        ended = anyio.run(_run_slice, Path(scratch))
        parts = split_run([recorded.event for recorded in read_all_events(ended.directory.journal)])
        states = {size: LargeRun(parts, size) for size in sizes}
        rounds = run_rounds(5, partial(_measure_sizes, states))
        growth = f"{sizes[-1]:,} ÷ {sizes[0]:,} tasks"
        bars = [Bar(f"event {growth}", MOST_GROWTH), Bar(f"wake-up {growth}", MOST_GROWTH)]
        past = report_rounds("one event, one wake-up", rounds, bars)
        del states
        _write_killed_run(parts, ended, events)
        words = (sys.executable, "-m", "bench.resumed_run", scratch)
        rounds = run_rounds(3, lambda: run_printing(words))
        return past | report_rounds(f"resume of {events:,} events", rounds, [Bar("first action, s", MOST_RESUME_S)])


async def _run_slice(scratch: Path) -> RunExit:
    """Run a goal of one slice to its end, one worker after the other, after the gate's run on the base.

    So what is copied with each slice holds no effect that a run has but once.
    """
    script, drafts = list[ScriptedReply](), []
    for number in range(SLICE):
        drafts.append({"key": f"t{number}", "depends_on": [f"t{number - 1}"] if number % CHAIN else []})
        name = f"{REAL_SLICE}/t{number}"
        script += [writes(name, f"{name}.txt", f"{name}\n"), worker_ends(name), reviews(name)]
    root = plans("root", {"key": REAL_SLICE, "kind": "branch"})
    script = [root, plans(REAL_SLICE, *drafts), planner_ends(REAL_SLICE), *script, planner_ends(), judges()]
    model = {"model": write_script(scratch / "script.json", script)}
    settings = {
        "gate": {"command": "true", "report": "exit-code", "reruns": 0},
        "roles": {"planner": model, "worker": model, "judge": model},
        "state": {"dir": str(scratch / "state")},
        "run": {"max_workers": 1},
        "plan": {"max_children": 10_000, "debounce_s": 3600, "beside_baseline": False},
    }
    ended = await run_goal(Options(calculator(scratch / "repository"), settings), "write many files", None)
    if ended.exit_code:
        sys.exit(f"the run did not end as done: {ended.error or ended.state.ended}")
    return ended


class LargeRun:
    """The state of a run with so many tasks, which goes on by a slice in each round."""

    def __init__(self, parts: RunParts, tasks: int) -> None:
        self._parts = parts
        self._next = tasks // parts.task_count
        self.state = RunState()
        self._apply_events(parts.list_beginning(self._next + 20))
        for number in range(1, self._next):
            self._apply_events(parts.copy_plan(number))
        for number in range(1, max(2, self._next // 4)):
            self._apply_events(parts.copy_work(number))
        self.status = StatusProjection(Path("journal.db"))
        self._schedule = GoalSchedule(self.state)
        self._busy = frozenset(self._schedule.list_due_actions(LIMITS, frozenset()))

    def _apply_events(self, events: Sequence[Event] | Iterator[Event]) -> None:
        for recorded in record_events(events, self.state.seq, START):
            apply_recorded_event(self.state, recorded)

    def measure_slice(self) -> tuple[float, float]:
        """Return the microseconds of CPU that an event of the next slice takes, and a look at what is due."""
        events = [*self._parts.copy_plan(self._next), *self._parts.copy_work(self._next)]
        self._next += 1
        event_s = look_s = 0.0
        looks = 0
        for event in events:
            begun = time.process_time()
            apply_recorded_event(self.state, self._redact_event(event))
            event_s += time.process_time() - begun
            if isinstance(event, WAKING):
                begun = time.process_time()
                self._schedule.list_due_actions(LIMITS, self._busy)
                look_s += time.process_time() - begun
                looks += 1
        return event_s / len(events) * 1e6, look_s / looks * 1e6

    def _redact_event(self, event: Event) -> RecordedEvent:
        """Return an event as the journal does: without secrets, with its place."""
        (recorded,) = record_events([redact_event(event, PATTERN_REDACTOR)], self.state.seq, START)
        return recorded


def _measure_sizes(runs: dict[int, LargeRun]) -> Round:
    """Return the costs of one event and of one look at what is due in runs of all sizes."""
    figures = {}
    for size, run in runs.items():
        gc.collect()
        figures[f"event at {size:,}, µs"], figures[f"wake-up at {size:,}, µs"] = run.measure_slice()
    for size, run in runs.items():
        begun = time.process_time()
        run.status.render_json(run.state)
        figures[f"status at {size:,}, ms"] = (time.process_time() - begun) * 1000
    first, last = min(runs), max(runs)
    for name in ("event", "wake-up"):
        growth = figures[f"{name} at {last:,}, µs"] / figures[f"{name} at {first:,}, µs"]
        figures[f"{name} {last:,} ÷ {first:,} tasks"] = growth
    return figures


def _write_killed_run(parts: RunParts, ended: RunExit, count: int) -> None:
    """Put a journal of at least so many events in the place of the run's own: it was killed in its last slice."""
    directory = ended.directory.path
    for file in (*directory.glob("journal.*"), directory / snapshot.SNAPSHOT_FILE):
        file.unlink(missing_ok=True)
    (last, landed), slices = cut_run(parts), count // (len(parts.plan) + len(parts.work))
    git(Path(ended.state.run.repository), "update-ref", f"refs/heads/{landed.branch}", landed.new)
    copied = (chain(parts.copy_plan(number), parts.copy_work(number)) for number in range(1, slices))
    events = chain(parts.list_beginning(slices), *copied, last)
    store, state = EventStore.open_writer(directory / "journal.db"), RunState()
    store.claim_writer()
    store.claim_writer()
    least = count - min(MAX_SNAPSHOT_INTERVAL, count // 20)
    batch = list[RecordedEvent]()
    for recorded in record_events(events, 0, START):
        batch.append(recorded)
        if recorded.seq <= least:
            apply_recorded_event(state, recorded)
        if len(batch) == 1000:
            store.insert_events(batch)
            batch = []
    store.insert_events(batch)
    snapshot.save_snapshot(directory, state, store.find_sum(state.seq, state.last_at))
    store.close()


if __name__ == "__main__":
    gc.set_threshold(*GC_THRESHOLDS)
    sys.exit(main())
