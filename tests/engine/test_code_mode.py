"""A worker that works by one program, in whole runs."""

import pytest

from orchestrator.app.replay_models import ReplayOptions
from orchestrator.app.run_execution import RunExit
from orchestrator.domain.event.work import ToolReturned
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.project.options import Options
from orchestrator.replay.comparison.report_text import render_report
from orchestrator.scratch_runs.replay import replay_run
from tests.running.goals import Bench
from tests.running.projects import git
from tests.running.scripts import judges, planner_ends, plans, reviews, uses, worker_ends

pytestmark = pytest.mark.sandbox
PROGRAM = """
from tools import edit, list_files, read, run, search, write
names = list_files(glob="*.py")
assert "calc.py" in names
found = search("^def ", "calc.py")
edit("calc.py", found[0].text, found[0].text + "  # looked at")
write("names.txt", "\\n".join(names) + "\\n")
print(run("git status --short").output)
"""


def returned(ended: RunExit) -> list[ToolReturned]:
    """What the journal holds of the programs' ends."""
    events = [recorded.event for recorded in read_all_events(ended.directory.journal)]
    return [event for event in events if isinstance(event, ToolReturned) and event.name == "program"]


async def test_a_worker_lands_its_work_by_one_program(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "a"}),
        uses("worker", "a", "program", code=PROGRAM),
        worker_ends("a"),
        reviews("a"),
        planner_ends(),
        judges(),
    )
    assert ended.exit_code == 0
    (program,) = returned(ended)
    assert program.ok
    assert program.program is not None
    assert program.program.counts == {"list_files": 1, "search": 1, "edit": 1, "write": 1, "run": 1}
    assert program.program.paths == (".", "calc.py", "names.txt")
    assert "names.txt" in program.observation.head
    assert "  # looked at" in git(bench.repository, "show", f"{ended.state.run.branch}:calc.py")
    assert "calc.py" in git(bench.repository, "show", f"{ended.state.run.branch}:names.txt")


@pytest.mark.slow
async def test_a_run_of_a_program_is_done_over_the_same(bench: Bench) -> None:
    await bench.run(
        plans("root", {"key": "a"}),
        uses("worker", "a", "program", code=PROGRAM),
        worker_ends("a"),
        reviews("a"),
        planner_ends(),
        judges(),
    )
    options = Options(bench.repository, {"state": {"dir": str(bench.root / "state")}})
    report = await replay_run(options, None, ReplayOptions())
    assert (report.is_same, report.is_whole, report.exit_code) == (True, True, 0), render_report(report)
