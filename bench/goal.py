"""Measure goals through the real engine: the makespan of many tasks against the least that could be, and many workers.

    python -m bench.goal
    TASKS=1000 WORKERS=32 AGENTS=256 TURNS=40 python -m bench.goal

Real git, real sandbox, a gate that only exits with 0, a scripted model whose replies take a fixed time.

First: `TASKS` tasks in chains on `WORKERS` workers. The bound is the larger of two (Graham 1969): the longest chain of
tasks with their reviews, and the rounds in which so many workers can do so many equal tasks, with the last review.

Then `AGENTS` workers at once, each with `TURNS` replies of a second: of the time between the last beginning and the
first end, the share in which replies were under way. They read, so that no command takes the processors.

Last: `TESTED` small tasks with tests, and the runs of the gate that their landing takes (see `bench.gate_runs`).
"""

import os
import resource
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anyio

from bench.gate_runs import MOST_WHOLE_RUNS, measure_gate_runs
from orchestrator.app.run_execution import RunExit, run_goal
from orchestrator.domain.event.work import ModelReplied, SessionEnded, SessionStarted, ToolReturned
from orchestrator.domain.ids import parse_session_role
from orchestrator.domain.run.gate_runs import measure_runs_per_landed_task
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.project.options import Options
from tests.running.projects import calculator
from tests.running.scripts import judges, planner_ends, plans, reviews, uses, worker_ends, write_script, writes

CHAIN = 5
"""So many tasks of a slice follow each other."""
SLICE = 20
WORK_S, REVIEW_S = 8.0, 1.0
"""Seconds that a worker's replies take for one task, and its reviewer's."""
TURN_S = 1.0
MOST_RATIO, LEAST_SHARE, MOST_MB = 1.10, 0.90, 600


def main() -> int:
    """Print the figures; return 1 if one of them is past its bound."""
    tasks, workers = _read_count("TASKS", 160), _read_count("WORKERS", 16)
    agents, turns = _read_count("AGENTS", 32), _read_count("TURNS", 20)
    ratio = _measure_makespan(tasks, workers)
    share = _measure_agents(agents, turns)
    runs = measure_gate_runs(_read_count("TESTED", 20), 8)
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"memory {memory_mb:.0f} MB (at most {MOST_MB})")
    is_past = (ratio > MOST_RATIO, share < LEAST_SHARE, memory_mb > MOST_MB, runs > MOST_WHOLE_RUNS)
    return int(any(is_past))


def _read_count(name: str, usual: int) -> int:
    return int(os.environ.get(name, str(usual)))


def _measure_makespan(tasks: int, workers: int) -> float:
    """Return the makespan of a goal divided by its bound."""
    script: list[ScriptedReply] = []
    slices = [f"s{number}" for number in range(-(-tasks // SLICE))]
    for place, name in enumerate(slices):
        drafts = []
        for number in range(min(SLICE, tasks - place * SLICE)):
            needed = [f"t{number - 1}"] if number % CHAIN else []
            drafts.append({"key": f"t{number}", "depends_on": needed})
            script += _build_task(f"{name}/t{number}")
        script += [plans(name, *drafts), planner_ends(name)]
    cpu = _read_cpu_s()
    wall_s = _run_slices(slices, script, workers, [])
    cpu_s = _read_cpu_s() - cpu
    rounds = -(-tasks // workers)
    bound_s = max(CHAIN * (WORK_S + REVIEW_S), rounds * WORK_S + REVIEW_S)
    ratio = wall_s / bound_s
    print(f"{tasks} tasks, {workers} workers: {wall_s:.1f} s, bound {bound_s:.1f} s, ratio {ratio:.2f}")
    print(f"  ratio at most {MOST_RATIO:.2f}; CPU {cpu_s / tasks:.2f} s a task, children included", flush=True)
    return ratio


def _measure_agents(agents: int, turns: int) -> float:
    """Return the share of the time in which the replies of workers who are all at work were under way."""
    script: list[ScriptedReply] = []
    slices = [f"s{number}" for number in range(-(-agents // SLICE))]
    for place, name in enumerate(slices):
        keys = [f"t{number}" for number in range(min(SLICE, agents - place * SLICE))]
        script += [plans(name, *({"key": key} for key in keys)), planner_ends(name)]
        for key in keys:
            script += _build_long_task(f"{name}/{key}", turns)
    starts, ends, replies = list[float](), list[float](), list[float]()
    cpu = _read_cpu_s()
    _run_slices(slices, script, agents, [starts, ends, replies])
    cpu_s = _read_cpu_s() - cpu
    window_s = min(ends) - max(starts)
    during = sum(max(starts) <= at <= min(ends) for at in replies)
    share = during * TURN_S / (agents * window_s) if window_s > 0 else 0.0
    print(
        f"{agents} workers, {turns} replies each: {share:.0%} of the ideal for {window_s:.1f} s "
        f"(at least {LEAST_SHARE:.0%})"
    )
    print(
        f"  begun within {max(starts) - min(starts):.1f} s, CPU {cpu_s * 1000 / (agents * turns):.1f} ms a reply",
        flush=True,
    )
    return share


def _run_slices(
    slices: Sequence[str], script: Sequence[ScriptedReply], workers: int, times: Sequence[list[float]]
) -> float:
    """Run a goal of slices to its end; return its seconds.

    With `times` note when workers began, ended and were answered, as Unix time.
    """
    root = plans("root", *({"key": name, "kind": "branch"} for name in slices))
    with tempfile.TemporaryDirectory(prefix="orchestrate-bench-") as scratch:
        ended, wall_s = anyio.run(_run_goal, Path(scratch), [root, *script, planner_ends(), judges()], workers)
        if ended.exit_code:
            raise SystemExit(f"the run did not end as done: {ended.error or ended.state.ended}")
        if times:
            _collect_times(ended, times)
        else:
            whole, _ = measure_runs_per_landed_task(ended.state) or (0.0, 0.0)
            print(f"whole runs of the gate for each landed task, where it takes no time and nothing waits: {whole:.2f}")
    return wall_s


def _collect_times(ended: RunExit, times: Sequence[list[float]]) -> None:
    kinds = (SessionStarted, SessionEnded, ModelReplied)
    for recorded in read_all_events(ended.directory.journal):
        event = recorded.event
        if isinstance(event, ToolReturned) and not event.ok:
            raise SystemExit(f"a call of `{event.name}` failed: {event.observation.head}")
        if isinstance(event, kinds) and parse_session_role(event.session) == "worker":
            times[kinds.index(type(event))].append(recorded.at.timestamp())


def _read_cpu_s() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def build_goal_settings(scratch: Path, model: Mapping[str, Any], workers: int) -> dict[str, Any]:
    """Return the settings of a goal whose gate only exits with 0 and whose planners are told of nothing early."""
    return {
        "gate": {"command": "true", "report": "exit-code", "reruns": 0},
        "roles": {"planner": model, "worker": model, "judge": model},
        "state": {"dir": str(scratch / "state")},
        "run": {"max_workers": workers},
        "plan": {"max_children": 10_000, "debounce_s": 3600},
    }


async def _run_goal(scratch: Path, script: Sequence[ScriptedReply], workers: int) -> tuple[RunExit, float]:
    repository = calculator(scratch / "repository")
    model = {"model": write_script(scratch / "script.json", script)}
    settings = build_goal_settings(scratch, model, workers)
    begun = time.monotonic()
    ended = await run_goal(Options(repository, settings), "write many files", None)
    return ended, time.monotonic() - begun


def _build_task(name: str) -> list[ScriptedReply]:
    half = {"delay_s": WORK_S / 2}
    return [
        writes(name, f"{name}.txt", f"{name}\n").model_copy(update=half),
        worker_ends(name).model_copy(update=half),
        reviews(name).model_copy(update={"delay_s": REVIEW_S}),
    ]


def _build_long_task(name: str, turns: int) -> list[ScriptedReply]:
    """Return a worker that reads for all replies but two, then writes a file."""
    looks = []
    for number in range(turns - 2):
        ways = ({"path": "calc.py"}, {"path": "test_calc.py"}, {"path": "calc.py", "start": 2, "end": 5})
        looks.append(uses("worker", name, "read", **ways[number % len(ways)]))
    said = [*looks, writes(name, f"{name}.txt", f"{name}\n"), worker_ends(name)]
    return [*(one.model_copy(update={"delay_s": TURN_S}) for one in said), reviews(name)]


if __name__ == "__main__":
    sys.exit(main())
