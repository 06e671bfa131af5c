"""Six hundred files of which seven cannot land, for six reasons: who is found, in how many runs, and what is told."""

from math import log2
from pathlib import Path

import pytest

from orchestrator.app.run_execution import run_migration
from orchestrator.domain.event.landing import TrialJudged, UnitEjected
from orchestrator.domain.event.run import CheckStarted
from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.recipe.model import Recipe
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.project.options import Options
from tests.running.package import CODEMOD, GUILTY, LEFT, MODULES, RIGHT, package
from tests.running.projects import git

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(900)]

RECIPE = Recipe.model_validate(
    {
        "schema": 1,
        "migration": {"id": "words"},
        "scope": {"include": ["pkg/m*.py"]},
        "sample": {"first": 1_000},
        "step": [{"id": "codemod", "run": CODEMOD, "per": "shard", "must_parse": False}],
        "verify": {
            "report": "unittest",
            "check": [
                {
                    "id": "tests",
                    "run": "python3 -m unittest {tests} -v",
                    "all": "discover -s tests -t .",
                    "timeout_s": 6,
                }
            ],
        },
    }
)


async def test_exactly_the_guilty_do_not_land_within_three_times_log2_runs_and_a_pair_is_named(tmp_path: Path) -> None:
    root = package(tmp_path / "repo")
    ended = await run_migration(Options(root, {"state": {"dir": str(tmp_path / "state")}}), RECIPE)
    files = ended.state.migration.files
    assert {path for path, file in files.items() if file.status != FileStatus.MERGED} == GUILTY
    changed = git(root, "diff", "--name-only", f"main..{ended.state.run.branch}").splitlines()
    assert set(changed) == set(files) - GUILTY
    events = [recorded.event for recorded in read_all_events(ended.directory.journal)]
    runs = [event for event in events if isinstance(event, CheckStarted) and event.purpose_facts.kind == "queue"]
    search = [event for event in events if isinstance(event, TrialJudged) and event.symptoms and not event.cached]
    assert len(search) <= 3 * log2(MODULES)
    assert len(runs) <= 4 * log2(MODULES), "with the judgements of whole unions, before the search and after it"
    partners = {event.unit: event.partners for event in events if isinstance(event, UnitEjected)}
    assert partners == dict.fromkeys(GUILTY, ()) | {LEFT: (RIGHT,), RIGHT: (LEFT,)}


async def test_a_file_that_passes_now_and_then_does_not_land_and_no_other_file_is_blamed_for_it(tmp_path: Path) -> None:
    """No number of runs is promised here: each time that it passes sends the search another way."""
    root = package(tmp_path / "repo", flakiness=0.95)
    ended = await run_migration(Options(root, {"state": {"dir": str(tmp_path / "state")}}), RECIPE)
    files = ended.state.migration.files
    assert {path for path, file in files.items() if file.status != FileStatus.MERGED} == GUILTY


async def test_a_pair_whose_halves_are_in_different_waves_is_named_as_a_pair(tmp_path: Path) -> None:
    first = {"files": 2, "pick": "list", "paths": [LEFT, "pkg/m001.py"], "first": 18}
    recipe = Recipe.model_validate(RECIPE.model_dump(by_alias=True, exclude_unset=True) | {"sample": first})
    root = package(tmp_path / "repo")
    ended = await run_migration(Options(root, {"state": {"dir": str(tmp_path / "state")}}), recipe)
    files = ended.state.migration.files
    assert {path for path, file in files.items() if file.status != FileStatus.MERGED} == GUILTY - {LEFT}
    events = [recorded.event for recorded in read_all_events(ended.directory.journal)]
    assert {event.unit: event.partners for event in events if isinstance(event, UnitEjected) and event.partners} == {
        RIGHT: (LEFT,)
    }
    assert files[RIGHT].reason.endswith(f", only together with {LEFT} (landed before)")
    without = [event for event in events if isinstance(event, TrialJudged) and event.taken_back and not event.cached]
    assert len(without) <= 3 * log2(MODULES)
