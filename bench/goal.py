"""Measure a goal of many tasks through the real engine: its makespan against the least that could be, CPU and memory.

    python -m bench.goal
    TASKS=1000 WORKERS=32 python -m bench.goal

Real git, real sandbox, a gate that only exits with 0, a scripted model whose replies take a fixed time. The bound is
the larger of two: the longest chain of tasks, and all the work divided by the workers (Graham 1969).
"""

import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import anyio

from orchestrator.app.run_execution import RunExit, run_goal
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.project.options import Options
from tests.running.projects import calculator
from tests.running.scripts import judges, planner_ends, plans, reviews, worker_ends, write_script, writes

CHAIN = 5
"""So many tasks of a slice follow each other."""
SLICE = 20
WORK_S, REVIEW_S = 8.0, 1.0
"""Seconds that a worker's replies take for one task, and its reviewer's."""
MOST = 1.10


def main() -> int:
    """Print the figures; return 1 if the makespan is further from its bound than it may be."""
    tasks, workers = int(os.environ.get("TASKS", "60")), int(os.environ.get("WORKERS", "16"))
    with tempfile.TemporaryDirectory(prefix="orchestrate-bench-") as scratch:
        begun, cpu = time.monotonic(), _read_cpu_s()
        ended = anyio.run(_run_goal, Path(scratch), tasks, workers)
        wall_s, cpu_s = time.monotonic() - begun, _read_cpu_s() - cpu
    bound_s = max(CHAIN * (WORK_S + REVIEW_S), tasks * WORK_S / workers)
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{tasks} tasks, {workers} workers: {wall_s:.1f} s, bound {bound_s:.1f} s, ratio {wall_s / bound_s:.2f}")
    print(f"CPU {cpu_s / tasks:.2f} s a task (children included), {memory_mb:.0f} MB, exit {ended.exit_code}")
    if ended.exit_code:
        print(f"the run did not end as done: {ended.error or ended.state.ended}", file=sys.stderr)
        return 1
    return int(wall_s > bound_s * MOST)


def _read_cpu_s() -> float:
    return sum(
        used.ru_utime + used.ru_stime
        for used in (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    )


async def _run_goal(scratch: Path, tasks: int, workers: int) -> RunExit:
    repository = calculator(scratch / "repository")
    model = {"model": write_script(scratch / "script.json", _build_script(tasks))}
    settings = {
        "gate": {"command": "true", "report": "exit-code", "reruns": 0},
        "roles": {"planner": model, "worker": model, "judge": model},
        "state": {"dir": str(scratch / "state")},
        "run": {"max_workers": workers},
        "plan": {"max_children": SLICE + tasks // SLICE, "debounce_s": 3600},
    }
    return await run_goal(Options(repository, settings), "write many files", None)


def _build_script(tasks: int) -> list[ScriptedReply]:
    """Return replies for slices of tasks, in each of which every chain follows its own order."""
    slices = [f"s{number}" for number in range(-(-tasks // SLICE))]
    script = [plans("root", *({"key": name, "kind": "branch"} for name in slices))]
    for place, name in enumerate(slices):
        count = min(SLICE, tasks - place * SLICE)
        drafts = []
        for number in range(count):
            needed = [f"t{number - 1}"] if number % CHAIN else []
            drafts.append({"key": f"t{number}", "depends_on": needed})
            script += _build_task(f"{name}/t{number}")
        script += [plans(name, *drafts), planner_ends(name)]
    return [*script, planner_ends(), judges()]


def _build_task(name: str) -> list[ScriptedReply]:
    path = f"{name}.txt"
    half = {"delay_s": WORK_S / 2}
    return [
        writes(name, path, f"{name}\n").model_copy(update=half),
        worker_ends(name).model_copy(update=half),
        reviews(name).model_copy(update={"delay_s": REVIEW_S}),
    ]


if __name__ == "__main__":
    sys.exit(main())
