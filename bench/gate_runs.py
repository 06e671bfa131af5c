"""The runs of the gate that the landing of small tasks with tests takes, one in twenty of which is bad at first.

Real git, real sandbox, real pytest on a project of 60 modules, each with a file of tests; a scripted model. Every task
changes a module and adds tests of that. A bad one breaks what only a test sees that no import leads to.
"""

import sys
import tempfile
from pathlib import Path

import anyio

from orchestrator.app.run_execution import RunExit, run_goal
from orchestrator.domain.run.gate_runs import measure_runs_per_landed_task
from orchestrator.domain.run.state import RunState
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.project.options import Options
from tests.running.projects import repository
from tests.running.scripts import judges, planner_is_done, plans, reviews, worker_ends, write_script, writes

MODULES = 60
BAD_EVERY = 20
MOST_WHOLE_RUNS = 1.5
_HIDDEN = """\
import importlib


def test_all_modules():
    for number in range({modules}):
        module = importlib.import_module(f"part{{number}}")
        assert module.give(0) == 0, number
"""


def measure_gate_runs(tasks: int, workers: int) -> float:
    """Return the runs of the whole gate for each landed task, all included."""
    with tempfile.TemporaryDirectory(prefix="orchestrate-bench-") as scratch:
        ended = anyio.run(_run_goal, Path(scratch), tasks, workers)
    if ended.exit_code:
        raise SystemExit(f"the run did not end as done: {ended.error or ended.state.ended}")
    return _print_figures(ended.state, tasks, workers)


def _print_figures(state: RunState, tasks: int, workers: int) -> float:
    whole, partial = measure_runs_per_landed_task(state) or (0.0, 0.0)
    bad = sum(len(task.attempts) > 1 for task in state.tasks.values())
    landings = len(state.landings)
    print(f"{tasks} tasks with tests on {workers} workers, {bad} of them bad at first, {landings} landings:")
    print(
        f"  whole runs of the gate for each landed task {whole:.2f} (at most {MOST_WHOLE_RUNS}), partial {partial:.2f}"
    )
    return whole


async def _run_goal(scratch: Path, tasks: int, workers: int) -> RunExit:
    project = repository(scratch / "repository", _list_files())
    model = {"model": write_script(scratch / "script.json", _write_script(tasks))}
    settings = {
        "gate": {"command": f"{sys.executable} -m pytest -q -p no:cacheprovider", "mutants": 0, "repeats": False},
        "hands": {"read_only": [sys.prefix]},
        "roles": {"planner": model, "worker": model, "judge": model},
        "state": {"dir": str(scratch / "state")},
        "run": {"max_workers": workers},
        "plan": {"max_children": 10_000, "debounce_s": 3600},
    }
    return await run_goal(Options(project, settings), "let each part give more", None)


def _list_files() -> dict[str, str]:
    files = {".gitignore": "__pycache__/\n", "conftest.py": "", "test_all.py": _HIDDEN.format(modules=MODULES)}
    for number in range(MODULES):
        files[f"part{number}.py"] = _write_module("number * 2")
        files[f"test_part{number}.py"] = _write_test(number, "before", 1, 2)
    return files


def _write_script(tasks: int) -> list[ScriptedReply]:
    script = [plans("root", *({"key": f"t{number}"} for number in range(tasks)))]
    for number in range(tasks):
        task, part = f"t{number}", number % MODULES
        if _is_bad(number):
            body = f"7 if number == 0 else {number} if number == 100 else 2 * number"
            script += [*_change_part(task, part, body, number), worker_ends(task), reviews(task)]
            script.append(writes(task, f"part{part}.py", _write_module(f"2 * number if number < 100 else {number}")))
            script += [worker_ends(task), reviews(task)]
        else:
            body = f"number * 2 if number < 100 else {number}"
            script += [*_change_part(task, part, body, number), worker_ends(task), reviews(task)]
    return [*script, *planner_is_done(), judges()]


def _change_part(task: str, part: int, body: str, number: int) -> list[ScriptedReply]:
    """Return the replies that change a module and add a test that fails without that."""
    return [
        writes(task, f"part{part}.py", _write_module(body)),
        writes(task, f"test_more{number}.py", _write_test(part, f"more{number}", 100, number)),
    ]


def _is_bad(number: int) -> bool:
    return number % BAD_EVERY == BAD_EVERY - 1


def _write_module(body: str) -> str:
    return f"def give(number):\n    return {body}\n"


def _write_test(part: int, name: str, asked: int, wanted: int) -> str:
    return f"import part{part}\n\n\ndef test_{name}():\n    assert part{part}.give({asked}) == {wanted}\n"
