"""What `migrate run` and its dry run refuse before anything happens, in words and as one object."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from orchestrator.cli.main import cli
from orchestrator.errors import NothingToMigrate, UsageProblem
from tests.running.projects import refs, repository

RECIPE = """schema = 1
[migration]
id = "words"
[scope]
include = ["*.txt"]
[[scope.site]]
id = "old"
pattern = "old"
[[step]]
id = "sed"
run = "sed -i s/old/new/ {files}"
[[verify.check]]
id = "t"
run = "true"
"""


def refused(root: Path, recipe: str, *words: str) -> tuple[str, dict[str, object]]:
    """The message, and the object on standard output."""
    (root.parent / "recipe.toml").write_text(recipe)
    where = ("--repo", str(root), "--state", str(root.parent / "state"))
    done = CliRunner().invoke(cli, ["migrate", *words[:1], str(root.parent / "recipe.toml"), *where, *words[1:]])
    assert isinstance(done.exception, UsageProblem), done.output
    told = json.loads(done.stdout) if done.stdout else {}
    assert told.get("exit", done.exception.exit_code) == done.exception.exit_code
    return str(done.exception), told


@pytest.mark.parametrize("words", [("plan",), ("run",), ("run", "--dry-run")], ids=" ".join)
def test_a_pattern_without_a_site_is_exit_5_as_an_object_too(words: tuple[str, ...], tmp_path: Path) -> None:
    root = repository(tmp_path / "repo", {"a.txt": "new\n"})
    before = refs(root)
    message, told = refused(root, RECIPE, *words, "--json")
    assert (told["exit"], NothingToMigrate.exit_code) == (5, 5)
    assert message.startswith("no site was found in 1 files in scope")
    assert (refs(root), (tmp_path / "state").exists()) == (before, False)


@pytest.mark.parametrize("words", [("plan",), ("run",), ("run", "--dry-run"), ("check",)], ids=" ".join)
def test_a_recipe_error_names_file_line_key_and_allowed_values(words: tuple[str, ...], tmp_path: Path) -> None:
    root = repository(tmp_path / "repo", {"a.txt": "old\n"})
    message, told = refused(root, RECIPE + 'level = "quick"\n', *words, "--json")
    assert told["exit"] == 2
    for part in ("recipe.toml:15", "level", "'step', 'shard', 'queue' or 'final'"):
        assert part in message


def test_options_that_only_a_dry_run_has_and_wishes_that_mean_nothing_are_refused(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo", {"src/a.txt": "old\n"})
    assert "--diff is for a dry run" in refused(root, RECIPE, "run", "--diff")[0]
    assert "drop one of them" in refused(root, RECIPE, "run", "--dry-run", "--detach")[0]
    assert "name a file" in refused(root, RECIPE, "run", "--dry-run", "--report", "-", "--json")[0]
    for words in (("run",), ("run", "--dry-run")):
        message, _ = refused(root, RECIPE, *words, "--only", "scr/*", "--json")
        assert "did you mean src" in message
    assert not (tmp_path / "state").exists()
