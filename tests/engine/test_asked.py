"""Runs for a part of a recipe, and surveys that need what `[env]` installs, on real git and in the real sandbox."""

from pathlib import Path

import pytest

from orchestrator.app.run_execution import run_migration
from orchestrator.domain.commands.definitions import RetryFiles
from orchestrator.domain.event.migration import ShardsPlanned
from orchestrator.domain.recipe.model import Recipe
from orchestrator.migrate.scope.planning import WorkFilter
from orchestrator.scratch_runs.dry_run import DryRunOptions, dry_run_recipe
from tests.running.migrating import SED, Migrated, recipe, words
from tests.running.projects import repository

pytestmark = pytest.mark.sandbox


async def test_what_was_not_asked_for_is_left_out_with_the_reason_and_can_be_had_later(tmp_path: Path) -> None:
    run = Migrated(words(tmp_path / "repo", {"a/1.txt": "old", "a/2.txt": "old", "b/1.txt": "old", "b/2.txt": "none"}))
    given = recipe({"run": SED}, sample={"files": 3})
    run.ended = await run_migration(run.options(), given, work_filter=WorkFilter(("b/**", "a/2.txt"), sample=1))
    assert run.statuses() == {
        "a/1.txt": "skipped",
        "a/2.txt": "merged",
        "b/1.txt": "merged",
        "b/2.txt": "nothing-to-do",
    }
    assert (run.now.exit_code, run.now.state.migration.files["a/1.txt"].reason.startswith("not asked for")) == (0, True)
    (planned,) = run.events(ShardsPlanned)
    assert [len(shard.files) for shard in planned.shards] == [1, 1, 1], "a sample of one, the other, and the rest"
    assert planned.shards[-1].files == ("a/1.txt",)

    later = await run.say(RetryFiles(files=("a/1.txt",)))
    assert (later.exit_code, run.statuses()["a/1.txt"], run.text("a/1.txt")) == (0, "merged", "new")


@pytest.mark.extended
async def test_a_command_that_finds_sites_has_what_setup_made_for_the_new_world(tmp_path: Path) -> None:
    ignored: dict[str, str | bytes] = {".gitignore": "tools/\n", "a.txt": "old\n"}
    root = repository(tmp_path / "repo", ignored)
    given = recipe(
        {"run": SED},
        scope={"include": ["*.txt"], "site": [{"id": "old", "engine": "command", "run": "sh tools/find"}]},
        env={"setup": ["mkdir tools && touch tools/made"], "after": ["echo grep -Hn old '*.txt' > tools/find"]},
        verify={"coverage": False, "check": [{"id": "t", "run": "true"}]},
    )
    report = await dry_run_recipe(
        Migrated(root).options(hands={"registries": ["registry.test:443"]}), given, DryRunOptions()
    )
    assert (report.found.as_object(), report.changed, report.remaining) == ({"files": 1, "sites": 1}, 1, 0)


async def test_a_dry_run_takes_no_step_that_would_ask_a_model_nor_one_behind_it(tmp_path: Path) -> None:
    root = words(tmp_path / "repo", {"a/1.txt": "old wrong", "a/2.txt": "fine"})
    steps = ({"run": SED}, {"kind": "llm", "prompt": "better"}, {"run": "sed -i s/new/newer/ {files}"})
    given = Recipe.model_validate(recipe(*steps).dump_values())
    report = await dry_run_recipe(Migrated(root).options(), given, DryRunOptions(verify=True, diff=True))
    assert [step.not_tried for step in report.steps] == [
        "",
        "it asks a model",
        "it comes after a step that asks a model",
    ]
    assert report.gate is not None
    assert (report.exit, report.gate.fixed, "+new wrong" in (report.diff or "")) == (0, (), True)
    assert report.files[0].left == ()
