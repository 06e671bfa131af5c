"""The text of a status: where each task stands in the tree, and how many landed."""

from pathlib import Path

from orchestrator.domain.event.run import BaselineRecorded, RunEnded
from orchestrator.domain.judging.check import SELECTED_CHECK
from orchestrator.domain.run.state import RunState
from orchestrator.report.run.model import GateRunRates
from orchestrator.report.run.result import build_status
from orchestrator.report.run.status_text import render_status_lines
from orchestrator.report.run.summary import render_summary_lines
from orchestrator.tui.frame_lines import build_header_parts
from tests.running import migrated
from tests.running.goal_events import checked, created, ended, merged, told

INTERLEAVED = [
    created("ui", kind="branch"),
    created("api", kind="branch"),
    created("ui/list", "ui", "branch"),
    created("api/read", "api"),
    created("ui/list/sort", "ui/list"),
    created("ui/form", "ui"),
    created("api/write", "api"),
    created("ui/list/page", "ui/list"),
]


def list_plan_lines(state: RunState) -> list[str]:
    lines = list(render_status_lines(build_status(state, Path("journal.db"))))
    first = next(number for number, line in enumerate(lines) if line.startswith("  tasks "))
    return [line for line in lines[first + 1 :] if "disk" not in line]


def test_every_task_stands_right_below_its_own_parent_whenever_it_was_made() -> None:
    shown = [(len(line) - len(line.lstrip()), line.split()[-1]) for line in list_plan_lines(told(*INTERLEAVED))]
    assert shown == [
        (2, "root"),
        (4, "ui"),
        (6, "ui/list"),
        (8, "ui/list/sort"),
        (8, "ui/list/page"),
        (6, "ui/form"),
        (4, "api"),
        (6, "api/read"),
        (6, "api/write"),
    ]


def test_what_landed_is_counted_alike_everywhere_and_what_was_cancelled_apart() -> None:
    parts = [created("whole"), *merged("whole"), created("given-up"), ended("given-up", "cancelled"), created("large")]
    parts += [ended("large", "split"), created("bad"), ended("bad", "rejected")]
    state = told(*parts)
    counts = "1/3 merged, 1 rejected, 1 cancelled"
    assert f"  tasks {counts}" in render_status_lines(build_status(state, Path("journal.db")))
    assert f"tasks {counts}" in [part.text for part in build_header_parts(state, None, is_at_work=True)]
    over = RunEnded(outcome="partial", reason="", exit=3, head=None)
    assert f"tasks: {counts}" in render_summary_lines(told(*parts, over))


def test_all_runs_of_the_gate_are_counted_for_each_task_that_landed() -> None:
    runs = [
        checked("k1"),
        BaselineRecorded(receipts=("k1",)),
        checked("k2", check=f"{SELECTED_CHECK}.1"),
        checked("k3"),
    ]
    status = build_status(told(created("a"), created("b"), *runs, *merged("a"), *merged("b")), Path("journal.db"))
    assert status.gate_runs == GateRunRates(whole=1.0, partial=0.5)
    words = "(for each landed task 1.0 of the whole gate, 0.5 of a part)"
    assert any(words in line for line in render_status_lines(status))
    none = build_status(told(created("a"), *runs), Path("journal.db"))
    assert none.gate_runs is None


def test_a_task_that_is_not_begun_is_to_do() -> None:
    assert "  to do     a  a" in [line[2:] for line in list_plan_lines(told(created("a")))]


def test_the_tree_of_a_migration_has_its_files_below_their_steps() -> None:
    steps = [created("step/one", None, "branch"), created("step/two", None, "branch")]
    files = [created("app/test_a.py", "step/one"), created("app/test_b.py", "step/two")]
    state = migrated.told(*steps, *files, created("app/test_c.py", "step/one"))
    lines = render_status_lines(build_status(state, Path("journal.db")))
    shown = [line.split("to do     ")[0] + line.split()[2] for line in lines if "to do     " in line]
    assert shown == ["  step/one", "    app/test_a.py", "    app/test_c.py", "  step/two", "    app/test_b.py"]
