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


BASE = ('id = "words"', 'id = "words"\nbase = "gone"')
LISTED = ('run = "true"', 'run = "true"\n[sample]\npick = "list"\npaths = [\n  "a.txt",\n  "b.txt",\n]')
OWNERS = ('run = "true"', 'run = "true"\n[shard]\ncodeowners = "OWNERS"')


@pytest.mark.parametrize("words", [("plan",), ("run",), ("run", "--dry-run")], ids=" ".join)
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (BASE, "4: migration.base: base = 'gone' names no commit"),
        (("*.txt", "*.rb"), "5: scope.include: no file is in scope"),
        (LISTED, "17: sample.paths[1]: 'b.txt' is no file that the migration would work on: did you mean a.txt"),
        (OWNERS, "16: shard.codeowners: codeowners = 'OWNERS': the base commit has no such file"),
    ],
    ids=["base", "include", "paths", "codeowners"],
)
def test_what_shows_only_in_the_repository_is_told_with_file_line_and_key_as_well(
    words: tuple[str, ...], change: tuple[str, str], said: str, tmp_path: Path
) -> None:
    root = repository(tmp_path / "repo", {"a.txt": "old\n"})
    message, told = refused(root, RECIPE.replace(*change), *words, "--json")
    assert (told["exit"], message.startswith(f"{tmp_path}/recipe.toml:{said}")) == (2, True), message
    assert not list(tmp_path.glob("state/*/runs/*"))


@pytest.mark.parametrize("words", [("run",), ("run", "--dry-run")], ids=" ".join)
@pytest.mark.parametrize(
    ("env", "said"),
    [
        ('vars = { A = "1" }\nread_only_after = ["../gone"]', "17: env.read_only_after[0]: "),
        ('deps = ["requirements.txt"]', "16: env.deps[0]: deps under [env] names 'requirements.txt', but there is no"),
        ('before = ["true"]', "16: env.before[0]: setup under [env] needs tier 2"),
        ('setup = ["true"]\nnetwork = "allow"', '17: env.network: network = "allow" under [env] asks for tier 3'),
    ],
    ids=["read_only", "deps", "before", "network"],
)
def test_an_environment_that_cannot_be_had_is_told_where_it_stands_before_there_is_a_run(
    words: tuple[str, ...], env: str, said: str, tmp_path: Path
) -> None:
    root = repository(tmp_path / "repo", {"a.txt": "old\n"})
    low = ("--set", "hands.ask_tier=1") if "before" in env else ()
    message, _ = refused(root, f"{RECIPE}[env]\n{env}\n", *words, *low)
    assert message.startswith(f"{tmp_path}/recipe.toml:{said}"), message
    assert not list(tmp_path.glob("state/*/runs/*"))


def test_what_the_command_line_gets_wrong_is_not_looked_for_in_the_recipe(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo", {"a.txt": "old\n"})
    message, _ = refused(root, RECIPE, "run", "--read-only", str(tmp_path / "gone"))
    assert message.startswith(f"{tmp_path}/gone, given as ")
    assert "recipe.toml" not in message


def test_a_recipe_in_place_of_the_verb_is_answered_with_the_verbs_that_take_one() -> None:
    done = CliRunner().invoke(cli, ["migrate", "recipe.toml"])
    assert (done.exit_code, "orchestrate migrate plan recipe.toml, or run" in done.output) == (2, True)


def test_options_that_only_a_dry_run_has_and_wishes_that_mean_nothing_are_refused(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo", {"src/a.txt": "old\n"})
    assert "--diff is for a dry run" in refused(root, RECIPE, "run", "--diff")[0]
    assert "drop one of them" in refused(root, RECIPE, "run", "--dry-run", "--detach")[0]
    assert "name a file" in refused(root, RECIPE, "run", "--dry-run", "--report", "-", "--json")[0]
    for words in (("run",), ("run", "--dry-run")):
        message, _ = refused(root, RECIPE, *words, "--only", "scr/*", "--json")
        assert "did you mean src" in message
    assert not (tmp_path / "state").exists()
