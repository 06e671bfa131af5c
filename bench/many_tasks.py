"""Measure what a task costs our own process in a run of few tasks and in a run of many: CPU time, without children.

    python -m bench.many_tasks
    TASKS=100,1000,10000 python -m bench.many_tasks

Real git, real sandbox, a gate that only exits with 0, a scripted model in this process whose replies take no time. Each
task writes one file. The bound is on how the cost of a task grows from the smallest run to the one of 1,000 tasks, or
to the largest one where that is smaller.
"""

import os
import sys
import tempfile
import time
from pathlib import Path

import anyio

from bench.goal import build_goal_settings
from bench.measuring import Bar, Round, report_rounds, require_quiet_machine, run_rounds
from orchestrator.app.run_execution import RunExit, run_goal
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.project.options import Options
from tests.running.projects import calculator
from tests.running.scripts import judges, planner_ends, plans, reviews, worker_ends, write_script, writes

SLICE, CHAIN, WORKERS = 20, 5, 8
MOST_GROWTH = 1.3
_WARM_UP = 5


def main() -> int:
    """Measure, print a table; return 1 if a task of a large run costs too much more than one of a small run."""
    require_quiet_machine()
    sizes = [int(size) for size in os.environ.get("TASKS", "40,160").split(",")]
    _measure_run(_WARM_UP)
    rounds = run_rounds(1, lambda: _measure_sizes(sizes))
    bars = [Bar(_name_growth(sizes[0], size), MOST_GROWTH) for size in sizes[1:] if size <= max(1000, sizes[1])]
    return report_rounds("CPU of a task", rounds, bars)


def _name_growth(first: int, size: int) -> str:
    return f"task of {size:,} ÷ task of {first:,}"


def _measure_sizes(sizes: list[int]) -> Round:
    figures = {size: _measure_run(size) for size in sizes}
    named = {f"task of {size:,}, ms": cost_ms for size, cost_ms in figures.items()}
    for size in sizes[1:]:
        named[_name_growth(sizes[0], size)] = figures[size] / figures[sizes[0]]
    return named


def _measure_run(tasks: int) -> float:
    """Return the milliseconds of CPU that a task of a run of so many takes."""
    with tempfile.TemporaryDirectory(prefix="orchestrate-bench-") as scratch:
        begun = time.process_time()
        ended = anyio.run(_run_tasks, Path(scratch), tasks)
        spent_s = time.process_time() - begun
    if ended.exit_code:
        sys.exit(f"the run did not end as done: {ended.error or ended.state.ended}")
    return spent_s / tasks * 1000


async def _run_tasks(scratch: Path, tasks: int) -> RunExit:
    script, slices = list[ScriptedReply](), list[str]()
    for first in range(0, tasks, SLICE):
        name, drafts = f"s{len(slices)}", []
        slices.append(name)
        for number in range(min(SLICE, tasks - first)):
            drafts.append({"key": f"t{number}", "depends_on": [f"t{number - 1}"] if number % CHAIN else []})
            task = f"{name}/t{number}"
            script += [writes(task, f"{task}.txt", f"{task}\n"), worker_ends(task), reviews(task)]
        script += [plans(name, *drafts), planner_ends(name)]
    root = plans("root", *({"key": name, "kind": "branch"} for name in slices))
    model = {"model": write_script(scratch / "script.json", [root, *script, planner_ends(), judges()])}
    settings = build_goal_settings(scratch, model, WORKERS)
    return await run_goal(Options(calculator(scratch / "repository"), settings), "write many files", None)


if __name__ == "__main__":
    sys.exit(main())
