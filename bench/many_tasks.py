"""Measure what a task costs our own process in a run of few tasks and in a run of many: CPU time, without children.

    python -m bench.many_tasks
    TASKS=100,1000,10000 python -m bench.many_tasks

Real git, real sandbox, a gate that only exits with 0, a scripted model in this process whose replies take no time. Each
task writes one file. The bound is on how the cost of a task grows from the smallest run to the one of 1,000 tasks, or
to the largest one where that is smaller. What a run leaves behind is counted: descriptors, mounts and processes, of
which there may be none, and worktrees, of which there may be some for each agent at once, but not for each task.
"""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import anyio

from bench.churn import count_kernel_objects
from bench.goal import build_goal_settings
from bench.measuring import Bar, Round, report_rounds, require_quiet_machine, run_rounds
from orchestrator.app.run_execution import RunExit, run_goal
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.project.options import Options
from tests.running.projects import calculator
from tests.running.scripts import judges, planner_ends, plans, reviews, worker_ends, write_script, writes

SLICE, CHAIN, WORKERS = 20, 5, 8
MOST_GROWTH = 1.3
MOST_WORKTREES = 3 * WORKERS
"""For workers, planners and gates at the same time."""
_WARM_UP = 5


def main() -> int:
    """Measure, print a table; return 1 if a task of a large run costs too much more than one of a small run."""
    require_quiet_machine()
    sizes = [int(size) for size in os.environ.get("TASKS", "40,160").split(",")]
    _measure_run(_WARM_UP)
    rounds = run_rounds(1, lambda: _measure_sizes(sizes))
    bars = [Bar(_name_growth(sizes[0], size), MOST_GROWTH) for size in sizes[1:] if size <= max(1000, sizes[1])]
    bars += [Bar("left over", 0), Bar("worktrees", MOST_WORKTREES)]
    return report_rounds("CPU of a task", rounds, bars)


def _name_growth(first: int, size: int) -> str:
    return f"task of {size:,} ÷ task of {first:,}"


@dataclass(frozen=True)
class RunCost:
    """CPU milliseconds of a task, and what the run left behind."""

    task_ms: float
    leftovers: int
    worktrees: int


def _measure_sizes(sizes: list[int]) -> Round:
    costs = {size: _measure_run(size) for size in sizes}
    named = {f"task of {size:,}, ms": cost.task_ms for size, cost in costs.items()}
    first = costs[sizes[0]]
    for size in sizes[1:]:
        named[_name_growth(sizes[0], size)] = costs[size].task_ms / first.task_ms
    named["left over"] = sum(cost.leftovers for cost in costs.values())
    named["worktrees"] = max(cost.worktrees for cost in costs.values())
    return named


def _measure_run(tasks: int) -> RunCost:
    """Carry a run of so many tasks out, and return what each cost and what is left."""
    before = count_kernel_objects()
    with tempfile.TemporaryDirectory(prefix="orchestrate-bench-") as scratch:
        begun = time.process_time()
        ended = anyio.run(_run_tasks, Path(scratch), tasks)
        spent_s = time.process_time() - begun
        words = ("git", "worktree", "list", "--porcelain")
        listed = subprocess.run(words, cwd=Path(scratch, "repository"), capture_output=True, text=True, check=True)
        survivors = _find_processes(scratch)
    if ended.exit_code:
        sys.exit(f"the run did not end as done: {ended.error or ended.state.ended}")
    more = count_kernel_objects() - before
    if more or survivors:
        print(f"left over after {tasks} tasks: {dict(more)}, {survivors}", file=sys.stderr, flush=True)
    return RunCost(spent_s / tasks * 1000, more.total() + len(survivors), listed.stdout.count("worktree "))


def _find_processes(place: str) -> list[str]:
    """Return the command lines of processes that name a folder: of sandboxes, gates and git, whoever started them."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has ended
            continue
        if place in words:
            found.append(words)
    return found


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
