"""A migration that is begun again while what an earlier run of it has landed waits to be merged."""

from pathlib import Path

import pytest

from orchestrator.app.run_creation import create_migration_run
from orchestrator.discovery.migration_events import build_inventory
from orchestrator.domain.event.run import Noticed
from orchestrator.journal.state.derivation import read_state
from orchestrator.migrate.scope.planning import WorkFilter
from orchestrator.scratch_runs.dry_run import DryRunOptions, dry_run_recipe
from tests.running.migrating import Migrated, recipe, words
from tests.running.projects import git

pytestmark = pytest.mark.sandbox

GIVEN = recipe({"run": "sed -i 's/old/new/; s/worse/wrong/' {files}"})


def told(notices: tuple[Noticed, ...]) -> list[str]:
    return [one.text for one in notices if one.text.startswith("an earlier run")]


async def begun(run: Migrated, *only: str) -> list[str]:
    """What a further run says at its beginning of an earlier one; no engine works on it."""
    place = await create_migration_run(run.options(), GIVEN, WorkFilter(only))
    return told(read_state(place.directory.journal).notices)


@pytest.mark.extended
async def test_a_run_that_does_again_what_waits_to_be_merged_names_the_earlier_one(tmp_path: Path) -> None:
    run = Migrated(words(tmp_path / "repo", {"a/1.txt": "old", "a/2.txt": "old worse", "b/1.txt": "old"}))
    first = await run.run(GIVEN)
    earlier, pull_request = first.state.run, first.state.pr
    assert (told(first.state.notices), pull_request is not None) == ([], True)

    planned = await build_inventory(run.options(), GIVEN)
    tried = await dry_run_recipe(run.options(), GIVEN, DryRunOptions())
    (said,) = [text for text in planned.notices if text.startswith("an earlier run")]
    assert said in tried.notices
    for part in (earlier.run, "landed 2 of these files", earlier.branch, earlier.base[:12], "merge that first"):
        assert part in said
    assert pull_request and pull_request.url in said

    again = await run.run(GIVEN)
    assert (told(again.state.notices), again.exit_code) == ([said], first.exit_code)


@pytest.mark.extended
async def test_what_was_merged_or_given_up_or_is_not_asked_for_is_not_named(tmp_path: Path) -> None:
    run = Migrated(words(tmp_path / "repo", {"a/1.txt": "old", "a/2.txt": "old worse", "b/1.txt": "old"}))
    branch = (await run.run(GIVEN)).state.run.branch
    assert await begun(run, "a/2.txt") == []
    assert len(await begun(run, "b/**")) == 1

    git(run.root, "merge", "-q", "--squash", branch)
    git(run.root, "commit", "-q", "-m", "squashed")
    (run.root / "c").mkdir()
    (run.root / "c/1.txt").write_text("old\n")
    git(run.root, "add", "-A")
    git(run.root, "commit", "-q", "-m", "a site comes back")
    assert await begun(run) == []

    git(run.root, "reset", "-q", "--hard", "HEAD~2")
    assert len(await begun(run)) == 1
    git(run.root, "branch", "-q", "-D", branch)
    assert await begun(run) == []
