"""Recipes as journals hold them: typed, readable when valid no longer, and read without what only their files need."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from orchestrator.domain.fold.projection import fold_events
from orchestrator.domain.recipe.model import read_recorded_recipe, require_valid_recipe
from orchestrator.journal.state.snapshot import load_snapshot, save_snapshot
from orchestrator.report.migration.full_report import build_migration_report
from tests.running.migrated import RECIPE, begun, recorded, told

ODD_PARTS: list[dict[str, Any]] = [
    {"newer": 1},
    {"shard": {"depth": 1, "newer": True}},
    {"migration": RECIPE["migration"] | {"newer": True}},
    {"scope": RECIPE["scope"] | {"newer": True}},
    {"step": [*RECIPE["step"][:2], {"id": "hand", "kind": "newer"}]},
    {"verify": {}},
]


def test_a_recorded_recipe_is_the_one_that_was_written() -> None:
    recipe = read_recorded_recipe(RECIPE)
    assert (recipe.title, [step.kind for step in recipe.step]) == ("Plain <asserts>", ["command", "llm", "human"])
    assert read_recorded_recipe(recipe.dump_values()) == recipe == require_valid_recipe(recipe)


@pytest.mark.parametrize("odd", ODD_PARTS)
def test_a_run_whose_recipe_is_valid_no_longer_can_be_read_but_not_worked_on(
    odd: dict[str, Any], tmp_path: Path
) -> None:
    values = RECIPE | odd
    state = fold_events(recorded(begun(values)))
    recipe = state.migration.require_recipe()
    report, sound = build_migration_report(state), build_migration_report(fold_events(recorded(begun())))
    assert (report.title, report.now, report.invariants) == (sound.title, sound.now, sound.invariants)
    assert [rung.step for rung in report.rungs] == ["codemod", "tail", "hand"]
    assert (recipe.dump_values(), recipe.shard.depth, recipe.scope.site[0].target) == (values, 1, 1)
    with pytest.raises(ValidationError):
        require_valid_recipe(recipe)
    save_snapshot(tmp_path, state, b"sum")
    assert load_snapshot(tmp_path) == (state, b"sum")


def test_a_snapshot_holds_recipes_by_type(tmp_path: Path) -> None:
    state = told()
    state.migration.requested_recipe = read_recorded_recipe(RECIPE | {"stop": {"same_signature": 9}})
    save_snapshot(tmp_path, state, b"sum")
    assert load_snapshot(tmp_path) == (state, b"sum")


def test_a_glob_that_is_none_is_found_when_work_begins() -> None:
    recipe = read_recorded_recipe(RECIPE | {"scope": {"include": ["!"]}})
    with pytest.raises(ValidationError, match="no glob"):
        require_valid_recipe(recipe)


def test_folding_a_migrations_journal_loads_no_library_of_globs() -> None:
    code = (
        "import sys; from tests.running.migrated import told;"
        "print(told().migration.require_recipe().title, 'pathspec' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "Plain <asserts> False\n"
