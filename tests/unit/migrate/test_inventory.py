"""The inventory: what is in scope, what is left out and told, and when there is nothing to do."""

import os
from pathlib import Path

import pytest

from orchestrator.domain.event.migration import FilesFound, FoundFile
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import CommitId
from orchestrator.domain.recipe.model import Recipe
from orchestrator.errors import NothingToMigrate, UsageProblem
from orchestrator.migrate.scope.inventory import take_inventory
from tests.running.projects import git, repository
from worktrees.repositories.repository import GitRepository

RECIPE = {
    "schema": 1,
    "migration": {"id": "x"},
    "step": [{"id": "a", "run": "tool {files}"}],
    "verify": {"check": [{"id": "t", "run": "test"}]},
}


async def events_of(root: Path, **more: object) -> tuple[list[FoundFile], list[str]]:
    """The files found and the notices."""
    recipe = Recipe.model_validate(RECIPE | more)
    events = await take_inventory(GitRepository.open(root).git, CommitId(git(root, "rev-parse", "HEAD")), recipe)
    found = [file for event in events if isinstance(event, FilesFound) for file in event.files]
    return found, [event.text for event in events if isinstance(event, Noticed)]


async def inventory(root: Path, **scope: object) -> tuple[list[str], list[str]]:
    """The paths found and the notices."""
    found, notices = await events_of(root, scope=scope)
    return [file.path for file in found], notices


async def test_globs_take_in_and_out_and_order_is_by_path(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo", {"b.py": "", "a.py": "", "c/d.py": "", "c/x.py": "", "e.txt": ""})
    (root / "link.py").symlink_to("a.py")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "a link is no file of its own")
    assert await inventory(root, include=["*.py"], exclude=["x.py"]) == (["a.py", "b.py", "c/d.py"], [])


async def test_names_that_no_tool_could_be_given_are_left_out_and_told(tmp_path: Path) -> None:
    odd = ["new\nline.py", "red\x1b[31m.py", "bidi\u202egpj.py", os.fsdecode(b"bad\xff.py")]
    fine = ["sp ace.py", "\u00fc\u4e2d\u00a0.py", "quo'te\".py", "-dash.py", "back`tick`.py", "$(x).py"]
    root = repository(tmp_path / "repo", dict.fromkeys([*odd, *fine], ""))
    found, notices = await inventory(root, include=["*.py"])
    assert found == sorted(fine)
    assert "bad\\udcff.py was left out: its name is not UTF-8" in notices
    assert len([text for text in notices if "contains control or invisible characters" in text]) == 3
    assert "\x1b" not in "".join(notices)


async def test_a_file_that_is_too_large_is_left_out_and_told(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo", {"big.py": "#" * 2048, "small.py": ""})
    told = ["big.py was left out: it is larger than max_file_kb = 1"]
    assert await inventory(root, include=["*.py"], max_file_kb=1) == (["small.py"], told)


@pytest.mark.parametrize(
    ("scope", "said"),
    [
        ({"include": ["*.rb"]}, "match none of the 1 files"),
        ({"include": ["*.py"], "site": [{"id": "s", "pattern": "nowhere"}]}, "no site was found in 1 files"),
    ],
)
async def test_a_scope_without_anything_to_do_is_refused(tmp_path: Path, scope: dict[str, object], said: str) -> None:
    root = repository(tmp_path / "repo", {"a.py": "x\n"})
    with pytest.raises(UsageProblem, match=said):
        await inventory(root, **scope)


async def test_files_have_their_sites_with_weight_and_owner(tmp_path: Path) -> None:
    files = {"a.py": "old old\n", "b.py": "new\n", ".github/CODEOWNERS": "*.py @org/core @ann\nb.py\n"}
    found, _ = await events_of(
        repository(tmp_path / "repo", files),
        scope={"include": ["*.py"], "site": [{"id": "old", "pattern": "old", "weight": 1.5}]},
    )
    assert [(file.path, file.sites, file.weight, file.owner) for file in found] == [
        ("a.py", 2, 3.0, "@org/core @ann"),
        ("b.py", 0, 0.0, ""),
    ]


async def test_a_kind_without_sites_beside_one_with_sites_is_told(tmp_path: Path) -> None:
    site = [{"id": "old", "pattern": "old"}, {"id": "odd", "pattern": "nowhere"}]
    root = repository(tmp_path / "repo", {"a.py": "old\n"})
    _, notices = await events_of(root, scope={"include": ["*.py"], "site": site})
    assert notices == ["there is no site of kind odd: is its pattern right?"]


async def test_what_an_invariant_wants_to_be_there_is_no_work(tmp_path: Path) -> None:
    """A pattern that has to appear is counted by invariants; files are in need of work by what has to go."""
    site = [{"id": "old", "pattern": "old"}, {"id": "new", "pattern": "new"}]
    rule = {"kind": "sites-at-least", "site": "new"}
    root = repository(tmp_path / "repo", {"a.py": "old\n", "b.py": "new\n"})
    found, notices = await events_of(root, scope={"include": ["*.py"], "site": site}, invariant=[rule])
    assert ([(file.path, file.sites) for file in found], notices) == ([("a.py", 1), ("b.py", 0)], [])


async def test_that_there_is_nothing_to_migrate_has_an_exit_code_of_its_own(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo", {"a.py": "x\n", "b.py": "x\n"})
    with pytest.raises(NothingToMigrate, match=r"in 2 files in scope.*s \(regex\): nowhere") as raised:
        await inventory(root, include=["*.py"], site=[{"id": "s", "pattern": "nowhere"}])
    assert raised.value.exit_code == 5


async def test_a_named_owners_file_that_is_missing_is_a_mistake(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo", {"a.py": "x\n"})
    with pytest.raises(UsageProblem, match="codeowners = 'OWNERS'"):
        await events_of(root, scope={"include": ["*.py"]}, shard={"codeowners": "OWNERS"})
