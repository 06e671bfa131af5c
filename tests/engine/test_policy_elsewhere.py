"""The policy in migrations, in replays, and on questions that a person has answered before."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.commands.definitions import Approve
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.run_control.control import send_command
from tests.engine.test_policy import DENIES_INFRA, DENIES_SHELL, keeps, lose, returned, shell
from tests.engine.test_replay import again
from tests.running.goals import Bench, Hears, one
from tests.running.migrating import SED, Migrated, recipe, words
from tests.running.scripts import judges, planner_ends, plans, reviews, worker_ends

pytestmark = [pytest.mark.sandbox, pytest.mark.extended]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "policy.toml"


async def test_a_pass_of_a_migration_is_asked_about_and_a_denied_file_never_lands(tmp_path: Path, file: Path) -> None:
    migrated = Migrated(words(tmp_path / "repo", {"tests/a.txt": "old", "tests/b.txt": "old"}))
    asks = '[[rule]]\neffect = "ask"\nmerges = "tests/a.txt"\n'
    denies = '[[rule]]\neffect = "deny"\nmerges = "tests/b.txt"\nreason = "by hand"\n'
    waiting = await migrated.run(recipe({"run": SED}), **keeps(file, asks + denies))
    (asked,) = waiting.state.pending_approvals
    assert (asked.approval.matter, waiting.state.landings) == ("landing", [])
    assert any(f"{file}:1" in line for line in asked.approval.detail)
    ended = await migrated.say(Approve(item=asked.approval.item))
    assert (migrated.statuses()["tests/a.txt"], migrated.statuses()["tests/b.txt"]) == ("merged", "rejected")
    assert "by hand" in ended.state.migration.files["tests/b.txt"].reason


async def test_a_replay_asks_nobody_about_a_landing_and_repeats_the_answers_about_calls(
    bench: Bench, file: Path
) -> None:
    asks = '[[rule]]\neffect = "ask"\ntools = "shell"\n[[rule]]\neffect = "ask"\nmerges = "a.txt"\n'
    gives_up = [shell("true"), worker_ends("a", "nothing could be done")]
    items = [plans("root", {"key": "a"}), *gives_up, shell("echo a > a.txt"), worker_ends("a"), reviews("a")]
    items += [planner_ends(), judges()]
    ended = await bench.run(*items, **keeps(file, asks))
    while ended.state.pending_approvals:
        directory = RunDirectory(max(bench.root.glob("state/*/runs/*")))
        send_command(directory, Approve(item=ended.state.pending_approvals[0].approval.item), by="ada")
        ended = await bench.resume(*items)
    assert (ended.exit_code, len(ended.state.approvals)) == (0, 2)
    report = await again(bench)
    assert (report.exit_code, report.divergences, report.replayed_outcome) == (0, (), "done")


async def test_what_a_command_wrote_where_a_person_is_to_be_asked_is_asked_about_before_it_lands(
    bench: Bench, file: Path
) -> None:
    policy = keeps(file, '[[rule]]\neffect = "ask"\nwrites = "a.txt"\n')
    ended = await bench.run(plans("root", {"key": "a"}), shell("echo b > a.txt"), *one("a")[2:], **policy)
    (asked,) = ended.state.pending_approvals
    assert (asked.approval.matter, asked.approval.detail[0]) == (
        "landing",
        f"the policy asks about a.txt ({file}:1)",
    )


async def test_a_replay_goes_by_the_policy_as_it_was_then_also_by_what_changed_in_the_middle(
    bench: Bench, file: Path
) -> None:
    calls = iter([DENIES_SHELL])

    def change(event: Any) -> None:
        if event.kind == "tool.returned" and event.name == "shell":
            file.write_text(next(calls, DENIES_SHELL))

    items = [plans("root", {"key": "a"}), shell("true"), shell("echo 2"), *one("a")[1:]]
    ended = await bench.run(*items, when=Hears(change), **keeps(file, DENIES_INFRA))
    assert [("Nothing was done" in said) for said in returned(ended, "shell")] == [False, True]
    lose(file)
    report = await again(bench)
    assert (report.exit_code, report.divergences, report.replayed_outcome) == (0, (), "done")
