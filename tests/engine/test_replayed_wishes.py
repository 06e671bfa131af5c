"""Replays of runs in which a worker asked for a higher tier: people's answers come when they came."""

import pytest

from orchestrator.domain.commands.definitions import Approve, Cancel, Command, Reject
from orchestrator.domain.ids import TaskId
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.run_control.control import send_command
from tests.engine.test_ladder import ASKS, wishing
from tests.engine.test_replay import again
from tests.running.goals import Bench

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]

ITEM = "tier/a/2"
RULES = {"hands": {"registries": ["registry.test:443"]}}


def say(bench: Bench, command: Command) -> None:
    send_command(RunDirectory(max(bench.root.glob("state/*/runs/*"))), command, by="ada")


@pytest.mark.extended
@pytest.mark.parametrize("said", [Approve(item=ITEM), Reject(item=ITEM, reason="vendored")], ids=lambda one: one.do)
async def test_a_wish_is_answered_as_it_was_then(bench: Bench, said: Command) -> None:
    items = wishing(ASKS)
    await bench.run(*items, **RULES)
    say(bench, said)
    assert (await bench.resume(*items)).exit_code == 0
    report = await again(bench)
    assert (report.exit_code, report.divergences, report.replayed_outcome) == (0, (), "done")


async def test_a_wish_that_nobody_answered_ends_the_replay_where_the_run_was_steered_otherwise(bench: Bench) -> None:
    await bench.run(*wishing(ASKS))
    say(bench, Cancel(task=TaskId("a")))
    assert (await bench.resume(*wishing(ASKS))).exit_code == 4
    report = await again(bench)
    assert report.exit_code == 1
    assert f"waits for an answer to q1 {ITEM}" in report.divergences[0].what
