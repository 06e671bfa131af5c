"""The inventory: what is in scope, what is left out and told, and when there is nothing to do."""

import os
from pathlib import Path

import pytest

from orchestrator.domain.event.migration import FilesFound
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import CommitId
from orchestrator.errors import UsageProblem
from orchestrator.migrate.inventory import take_inventory
from orchestrator.migrate.recipe import Recipe
from tests.running.projects import git, repository
from worktrees.repository import Repository

RECIPE = {
    "schema": 1,
    "migration": {"id": "x"},
    "step": [{"id": "a", "run": "tool {files}"}],
    "verify": {"check": [{"id": "t", "run": "test"}]},
}


async def inventory(root: Path, **scope: object) -> tuple[list[str], list[str]]:
    """The paths found and the notices."""
    recipe = Recipe.model_validate(RECIPE | {"scope": scope})
    events = await take_inventory(Repository.open(root).git, CommitId(git(root, "rev-parse", "HEAD")), recipe)
    found = [file.path for event in events if isinstance(event, FilesFound) for file in event.files]
    return found, [event.text for event in events if isinstance(event, Noticed)]


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
