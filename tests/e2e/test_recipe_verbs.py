"""`orchestrate migrate init` and `schema` as commands of a terminal."""

import json
from pathlib import Path

import pytest

from orchestrator.migrate.bundled import load_templates
from tests.running.in_process import orchestrate
from tests.running.projects import calculator, git


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return calculator(tmp_path / "calc")


def test_a_recipe_is_written_told_and_ready_to_be_planned(repo: Path, tmp_path: Path) -> None:
    words = ("migrate", "init", "--pattern", r"\bdouble\(", "--repo", str(repo))
    done = orchestrate(*words, cwd=tmp_path)
    assert done.code == 0, done.err
    assert done.out.startswith("wrote command.toml (command: A codemod of your own")
    assert "python3 -m unittest -v" in done.out
    assert "2 files in scope, 2 sites in 2 of them" in done.out
    planned = orchestrate("migrate", "plan", "command.toml", "--repo", str(repo), "--json", cwd=tmp_path)
    assert (planned.code, planned.json["sites"]) == (0, 2)
    assert git(repo, "status", "--porcelain") == ""
    again = orchestrate(*words, cwd=tmp_path)
    assert (again.code, "command.toml exists already" in again.err) == (2, True)


def test_a_recipe_for_a_goal_in_words_is_named_after_it(repo: Path, tmp_path: Path) -> None:
    words = ("migrate", "init", "--goal", "Call twice() in place of double()", "--pattern", "double", "--json")
    done = orchestrate(*words, "--repo", str(repo), cwd=tmp_path)
    assert (done.code, done.json["file"]) == (0, "call-twice-in-place-of-double.toml")
    assert done.json["found"]["test_command"]["report"] == "unittest"
    assert (tmp_path / done.json["file"]).exists()


def test_the_recipes_that_come_along_are_listed(tmp_path: Path) -> None:
    shown = orchestrate("migrate", "init", "--list", cwd=tmp_path)
    assert [line.split()[0] for line in shown.out.splitlines()] == list(load_templates())
    listed = orchestrate("migrate", "init", "--list", "--json", cwd=tmp_path).json
    assert [one["name"] for one in listed["recipes"]] == list(load_templates())


def test_the_schema_is_printed_or_kept_in_a_file(tmp_path: Path) -> None:
    printed = orchestrate("migrate", "schema", cwd=tmp_path)
    kept = orchestrate("migrate", "schema", "--out", "recipe.schema.json", cwd=tmp_path)
    assert (printed.code, kept.code) == (0, 0)
    assert printed.json == json.loads((tmp_path / "recipe.schema.json").read_text())
    assert "#:schema recipe.schema.json" in kept.out
