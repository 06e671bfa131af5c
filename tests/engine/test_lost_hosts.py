"""A host that is lost costs what was under way on it, which is done again: never work, an attempt or a verdict."""

import tempfile
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from orchestrator.app.replay_models import ReplayOptions
from orchestrator.app.run_execution import RunExit, run_migration
from orchestrator.domain.judging.verdict import VerdictKind
from orchestrator.domain.run.task import Exit
from orchestrator.engine.lost_hosts import MOST_LOSSES
from orchestrator.errors import EnvironmentProblem, HostLost
from orchestrator.hands.execution.lost_hosts import MOST_TRIES
from orchestrator.project.options import Options
from orchestrator.replay.comparison.report_text import render_report
from orchestrator.scratch_runs.replay import replay_run
from tests.engine.test_model_steps import TAIL, made, options
from tests.running.goals import TWO, Bench
from tests.running.losing import Losses, ending
from tests.running.projects import calculator
from tests.running.words import SED, recipe, words

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(240)]

CALLS = 32
"""So many calls, at least, do the workspaces of a goal with two tasks take."""
CALLS_OF_MIGRATION = 60


def _end_in_new_place() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        return ending(anyio.run(lambda: make_bench(Path(place)).run(*TWO)))


async def _migrate(place: Path, *steps: dict[str, Any]) -> RunExit:
    """A migration of three words, of which only a model may write the second."""
    better = "better" if len(steps) > 1 else "new"
    root = words(place / "repo", {"a": ["old", "new"], "b": ["old", better], "c": ["old", "new"]})
    given = recipe(*steps)
    items = made(given, "b.txt", "better\n") if len(steps) > 1 else []
    return await run_migration(options(root, items), given)


def _migrate_in_new_place() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as place:
        return ending(anyio.run(lambda: _migrate(Path(place), {"run": SED}, TAIL)))


def make_bench(place: Path) -> Bench:
    place.mkdir(exist_ok=True)
    return Bench(place, calculator(place / "repo"))


async def test_a_goal_whose_hosts_are_lost_again_and_again_ends_as_without_that(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = Losses(monkeypatch, range(2, 100, 9))
    ended = ending(await bench.run(*TWO))
    assert len(losses.hands.lost) >= 4
    assert ended["outcome"] == ("done", "every criterion of the contract is met")
    assert (ended["attempts"], ended["rounds"]) == ({"root": 0, "a": 1, "b": 1}, {"root": 2, "a": 0, "b": 0})
    assert ended["ends"] == {"root": [], "a": [Exit.FINISHED], "b": [Exit.FINISHED]}
    assert ended["verdicts"] == {"root": [], "a": [VerdictKind.MERGE], "b": [VerdictKind.MERGE]}
    assert (ended["landings"], ended["ejections"], ended["open"]) == ([("a@1",), ("b@1",)], 0, [])


@pytest.mark.extended
@pytest.mark.timeout(1200)
def test_a_goal_ends_the_same_at_whatever_calls_its_hosts_are_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    calm = Losses(monkeypatch)
    wanted = _end_in_new_place()
    assert len(calm.hands.calls) >= CALLS

    @given(moments=st.sets(st.integers(1, CALLS), min_size=1, max_size=4), loses_all=st.booleans())
    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    def check(moments: set[int], loses_all: bool) -> None:
        losses = Losses(monkeypatch, moments, loses_all=loses_all)
        assert _end_in_new_place() == wanted
        assert losses.hands.lost

    check()


@pytest.mark.extended
async def test_a_migration_goes_on_in_other_workspaces_and_begins_again_where_nothing_else_helps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    baseline = range(1, MOST_TRIES + 1)
    losses = Losses(monkeypatch, [*baseline, *range(18, 200, 15)], loses_all=False)
    ended = ending(await _migrate(tmp_path, {"run": SED}))
    assert losses.hands.lost[: len(baseline)] == ["open_workspace for baseline"] * len(baseline)
    assert len(losses.hands.lost) >= len(baseline) + 2
    assert ended["outcome"] == ("done", "all 3 changed files landed")
    assert (ended["landings"], ended["ejections"], ended["open"]) == ([("a.txt", "b.txt", "c.txt")], 0, [])


@pytest.mark.extended
@pytest.mark.timeout(1800)
def test_a_migration_with_a_model_ends_the_same_at_whatever_calls_its_hosts_are_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calm = Losses(monkeypatch)
    wanted = _migrate_in_new_place()
    assert len(calm.hands.calls) >= CALLS_OF_MIGRATION

    @given(moments=st.sets(st.integers(1, CALLS_OF_MIGRATION), min_size=1, max_size=6), loses_all=st.booleans())
    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    def check(moments: set[int], loses_all: bool) -> None:
        losses = Losses(monkeypatch, moments, loses_all=loses_all)
        assert _migrate_in_new_place() == wanted
        assert losses.hands.lost

    check()


@pytest.mark.extended
async def test_work_that_loses_host_after_host_stops_the_run_and_says_so(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = Losses(monkeypatch, range(8, 1000))
    ended = await bench.run(*TWO)
    assert isinstance(ended.error, EnvironmentProblem)
    assert not isinstance(ended.error, HostLost)
    assert f"lost {MOST_LOSSES + 1} hosts in a row" in str(ended.error)
    assert len(ended.state.tasks["a"].attempts) == 1
    Losses(monkeypatch)
    assert (await bench.resume(*TWO)).state.ended.outcome == "done"
    assert losses.hands.lost


@pytest.mark.extended
async def test_a_run_whose_attempts_lost_hosts_comes_out_the_same_when_it_is_done_over(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses = Losses(monkeypatch, {"write_file", "take_snapshot", "get_policy_hash"}, loses_all=False)
    await bench.run(*TWO)
    assert len(losses.hands.lost) == 3
    Losses(monkeypatch)
    state = {"state": {"dir": str(bench.root / "state")}}
    report = await replay_run(Options(bench.repository, state), None, ReplayOptions())
    assert report.is_same, "\n".join(render_report(report))
