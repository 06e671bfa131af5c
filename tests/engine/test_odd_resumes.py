"""Runs that are gone on with after something unusual happened between two engines."""

import pytest

from orchestrator.domain.commands.definitions import Approve
from orchestrator.domain.event.landing import LandingStarted
from orchestrator.domain.ids import CommitId, TaskId, TreeId, build_unit_id
from orchestrator.errors import UsageProblem
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.run_control.control import send_command
from tests.running.goals import TWO, Bench, one
from tests.running.in_process import orchestrate
from tests.running.projects import GATE_FLAGS

pytestmark = pytest.mark.sandbox


async def test_a_landing_that_never_happened_and_whose_commit_git_pruned_is_made_again(bench: Bench) -> None:
    ended = await bench.run(*TWO, budget={"calls": 5})
    journal = Journal(ended.directory.path, SystemClock())
    pruned = LandingStarted(
        key=f"land/{'1' * 40}~0",
        branch=ended.state.run.branch,
        old=ended.state.head,
        new=CommitId("1" * 40),
        tree=TreeId("2" * 40),
        units=(build_unit_id(TaskId("b"), 1),),
    )
    await journal.append(pruned)
    journal.close()
    again = await bench.resume(*TWO, budget={"calls": 50})
    assert (again.exit_code, again.state.open_intents) == (0, {}), again.error


@pytest.mark.parametrize("change", [{"timeout_s": 601.0}, {"command": "python3 -m unittest  -v"}])
async def test_a_gate_that_was_changed_between_two_engines_has_a_baseline_of_its_own(
    bench: Bench, change: dict[str, object]
) -> None:
    await bench.run(*one("a"), budget={"calls": 3})
    again = await bench.resume(*one("a"), budget={"calls": 50}, gate=GATE_FLAGS | change)
    assert (again.exit_code, again.state.landed_units) == (0, frozenset({build_unit_id(TaskId("a"), 1)})), again.error


async def test_the_gate_cannot_be_taken_away_from_a_run(bench: Bench) -> None:
    await bench.run(*one("a"), budget={"calls": 3})
    with pytest.raises(UsageProblem, match="without a gate could not be judged"):
        await bench.resume(*one("a"), budget={"calls": 50}, gate={"command": " "})


async def test_an_export_tells_of_commands_that_it_leaves_behind(bench: Bench) -> None:
    ended = await bench.run(*one("a"), approval={"mode": "pr"})
    where = ("--repo", bench.repository, "--state", bench.root / "state")
    assert orchestrate("run", "export", "latest", "without.tar", *where, cwd=bench.root).err == ""
    send_command(ended.directory, Approve(item=ended.state.pending_approvals[0].approval.item))
    told = orchestrate("run", "export", "latest", "with.tar", *where, cwd=bench.root)
    assert (told.code, "warning: 1 commands that no engine has taken yet are not in it" in told.err) == (0, True)
