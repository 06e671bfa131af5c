"""Steps that are given the repository as a whole: run once, divided by files, searched when the gate is red."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from orchestrator.domain.commands.definitions import Revise
from orchestrator.domain.event.migration import FileMoved, StepStarted, WaveStarted
from orchestrator.scratch_runs.dry_run import DryRunOptions, dry_run_recipe
from tests.running.migrating import Migrated, recipe, words
from tests.running.projects import git

pytestmark = pytest.mark.sandbox

ALL = "sed -i s/old/new/ */*.txt"
SPOILS_ONE = f"{ALL} && sed -i s/new/wrong/ b/1.txt"


@pytest.fixture
def six(tmp_path: Path) -> Migrated:
    """Three directories of two files with a site each, of which any can be refused by a test of its own."""
    return Migrated(words(tmp_path / "repo", {f"{name}/{number}.txt": "old" for name in "abc" for number in (1, 2)}))


def tree(run: str, **more: Any) -> dict[str, Any]:
    return {"run": run, "per": "tree"} | more


async def test_a_command_over_the_whole_tree_runs_once_and_lands_by_shards(six: Migrated) -> None:
    marked = 'sed -i "s/old/new $(cat /proc/sys/kernel/random/uuid)/" */*.txt'
    ended = await six.run(recipe(tree(marked), sample={"files": 2}))
    assert len({six.text(path) for path in six.statuses()}) == 1, "all files are of one call"
    assert (ended.exit_code, six.subjects()) == (0, ["a", "b", "c"])
    assert [step.files for step in six.events(StepStarted)] == [6], "no sample goes before what is done as a whole"
    assert [wave.wave for wave in six.events(WaveStarted)] == ["sweep"]


async def test_a_red_union_of_it_is_searched_and_the_rest_lands(six: Migrated) -> None:
    ended = await six.run(recipe(tree(SPOILS_ONE)))
    assert ended.exit_code == 3
    assert [path for path, status in six.statuses().items() if status != "merged"] == ["b/1.txt"]
    assert "breaks 1 test" in ended.state.migration.files["b/1.txt"].reason


@pytest.mark.extended
async def test_what_is_atomic_lands_as_a_whole_or_not_at_all(six: Migrated) -> None:
    atomic = {"migration": {"id": "words", "atomic": True}}
    ended = await six.run(recipe(tree(SPOILS_ONE), **atomic))
    assert (ended.exit_code, set(six.statuses().values())) == (4, {"rejected"})
    assert (await six.run(recipe(tree(ALL), **atomic))).exit_code == 0


async def test_what_it_changes_outside_of_the_scope_is_left_out_by_name(six: Migrated) -> None:
    ended = await six.run(recipe(tree(f"{ALL} && echo x > a/new.md && echo '#' >> test_words.py")))
    assert (ended.exit_code, set(six.statuses().values())) == (0, {"merged"})
    (notice,) = ended.state.notices
    assert (notice.paths, "outside of [scope]" in notice.text) == (("a/new.md", "test_words.py"), True)
    assert git(six.root, "diff", "--name-only", "main", ended.state.run.branch).count("\n") == 5


async def test_files_without_a_site_that_it_changes_land_as_well(six: Migrated) -> None:
    (six.root / "c" / "3.txt").write_text("none\n")
    git(six.root, "add", "-A")
    git(six.root, "commit", "-qm", "a file without a site")
    ended = await six.run(recipe(tree(f"{ALL} && echo more >> c/3.txt")))
    assert (ended.exit_code, six.statuses()["c/3.txt"]) == (0, "merged")


async def test_a_step_before_it_has_left_its_changes_in_the_tree(six: Migrated) -> None:
    first = {"run": "sed -i s/old/older/ {files}"}
    ended = await six.run(recipe(first, tree("grep -q older a/1.txt && sed -i s/older/new/ */*.txt")))
    assert (ended.exit_code, six.text("c/2.txt")) == (0, "new")


async def test_a_command_that_fails_changes_nothing_and_is_named(six: Migrated) -> None:
    ended = await six.run(recipe(tree(f"{ALL}; echo error: no such rule; exit 3")))
    assert (ended.exit_code, set(six.statuses().values())) == (4, {"rejected"})
    assert ended.state.migration.files["a/1.txt"].reason == "step step-0 exited 3: error: no such rule"


async def test_a_later_step_takes_the_files_that_were_sent_back(six: Migrated) -> None:
    ended = await six.run(recipe(tree(SPOILS_ONE), {"run": "sed -i s/wrong/new/ {files}", "when": "failed"}))
    assert (ended.exit_code, six.text("b/1.txt")) == (0, "new")


@pytest.mark.extended
async def test_a_revised_command_runs_over_the_tree_once_more(six: Migrated) -> None:
    await six.run(recipe(tree(SPOILS_ONE)))
    ended = await six.say(Revise(recipe=recipe(tree(f"{ALL} && true")).dump_values()))
    assert (ended.exit_code, set(six.statuses().values())) == (0, {"merged"})


@pytest.mark.extended
async def test_a_second_run_of_it_takes_what_is_known_and_another_tree_is_tried_anew(six: Migrated) -> None:
    given = recipe(tree(ALL))
    await six.run(given)
    await six.run(given)
    assert {move.is_cached for move in six.events(FileMoved) if move.cache_key} == {True}
    (six.root / "tool.cfg").write_text("x")
    git(six.root, "add", "-A")
    git(six.root, "commit", "-qm", "what the command may read is another")
    await six.run(given)
    assert {move.is_cached for move in six.events(FileMoved) if move.cache_key} == {False}


async def test_a_dry_run_tells_what_it_changes(six: Migrated) -> None:
    report = await dry_run_recipe(six.options(), recipe(tree(ALL)), DryRunOptions(verify=True))
    assert (report.exit, report.changed, report.gate and report.gate.green) == (0, 6, True)


async def test_it_runs_until_it_settles(six: Migrated) -> None:
    ended = await six.run(recipe(tree("sed -i 's/old/mid/;t;s/mid/new/' */*.txt", max_passes=5)))
    assert (ended.exit_code, six.text("a/1.txt")) == (0, "new")


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (tree("sed -i s/a/b/ {files}"), "gets no {files}"),
        (tree(ALL, when="sites"), "does not go with per = 'tree'"),
        (tree(" "), "a command is needed"),
        ({"run": ALL}, "or per = 'tree' for a command that takes the repository as a whole"),
    ],
)
def test_a_step_that_cannot_take_the_tree_is_refused_with_its_reason(step: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words.replace("{", "\\{")):
        recipe(step)
