"""What a migration begins with, on real git and a real sandbox: sites by all engines, the base, the plan."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.run_creation import create_migration_run
from orchestrator.app.run_execution import run_migration
from orchestrator.discovery.migration_events import build_inventory
from orchestrator.domain.ids import CommitId
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.recipe.model import Recipe
from orchestrator.errors import EnvironmentProblem, NothingToMigrate, UsageProblem
from orchestrator.hands.local import open_local_hands
from orchestrator.journal.state.derivation import read_state
from orchestrator.migrate.recipe import load_recipe, locate_problems
from orchestrator.migrate.recipe.toml_writer import render_recipe
from orchestrator.migrate.sites.ast_grep import build_rewrite_command, list_needed_programs
from orchestrator.migrate.sites.finder import count_remaining_sites
from orchestrator.ports.hands import ShellCommand
from orchestrator.project.options import Options, build_grant, load_project_context
from tests.running.projects import git, repository

pytestmark = pytest.mark.sandbox

CALLS = "def test():\n    same(1, 2); same(\n        f(same(3, 4)), 5)\n    text = 'same(6, 7)'\n"


def recipe(**more: Any) -> Recipe:
    values = {
        "schema": 1,
        "migration": {"id": "calls"},
        "scope": {"include": ["*.py"], "site": [AST_GREP]},
        "step": [{"id": "rewrite", "kind": "rewrite", "engine": "ast-grep", "language": "python", **REWRITE}],
        "verify": {"report": "exit-code", "check": [{"id": "t", "run": "true"}]},
    }
    return Recipe.model_validate(values | more)


AST_GREP = {"id": "same", "engine": "ast-grep", "language": "python", "pattern": "same($A, $B)", "weight": 2}
BROKEN = {"id": "s", "engine": "command", "run": "exit 3"}
REWRITE = {"pattern": "same($A, $B)", "rewrite": "assert $A == $B"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files: dict[str, str | bytes] = {
        "latin.py": b"# \xe9\nsame(1, 2)\n",
        "a.py": CALLS,
        ".odd dir/b.py": "same(1, 'é'); same(2, 3)\n",
        "c.py": "pass\n",
        "sub/no.py": "pass\n",
    }
    return repository(tmp_path / "repo", files)


def options(root: Path) -> Options:
    return Options(root, {"state": {"dir": str(root.parent / "state")}})


async def test_sites_are_found_as_code_and_by_command_and_what_a_command_says_beside_the_scope_is_told(
    root: Path,
) -> None:
    lists = "grep -n pass *.py | sed 's/^/.\\//'; echo c.py:1; echo c.py:1:3; echo elsewhere.py:7; echo"
    command = {"id": "listed", "engine": "command", "run": lists}
    found = await build_inventory(options(root), recipe(scope={"include": ["*.py"], "site": [AST_GREP, command]}))
    places = {file.path: [(p.site, p.line, p.column) for p in file.places] for file in found.files}
    assert places == {
        ".odd dir/b.py": [("same", 1, 1), ("same", 1, 15)],
        "a.py": [("same", 2, 5), ("same", 2, 17), ("same", 3, 11)],
        "c.py": [("listed", 1, 1), ("listed", 1, 3)],
        "latin.py": [],
        "sub/no.py": [],
    }
    assert [file.weight for file in found.files] == [4, 6, 2, 0, 0]
    assert [text for text in found.notices if text.startswith("latin.py: ast-grep does not read it")]
    assert [text for text in found.notices if "elsewhere.py" in text and "not in scope" in text]
    assert {path for shard in found.shards for path in shard.files} == {"a.py", "c.py", ".odd dir/b.py"}


async def test_what_a_rewrite_leaves_is_counted_in_the_new_contents_and_the_workspace_is_as_before(root: Path) -> None:
    given, around = recipe(), load_project_context(options(root))
    allowed = build_grant(around.config, given.env, list_needed_programs(given))
    async with open_local_hands(around.repository, around.state.path, allowed) as hands:
        workspace = await hands.open_workspace(CommitId(git(root, "rev-parse", "HEAD")), Purpose("test"))
        line = f"{build_rewrite_command(given.step[0], ['a.py'])}; {build_rewrite_command(given.step[0], ['c.py'])}"
        await workspace.start_command("rewrite", ShellCommand(line=line))
        while (result := await workspace.wait_for_result("rewrite")) is None:
            pass
        assert result.is_success, result.log.read_text()
        new = await workspace.read_file("a.py")
        assert new.startswith(b"def test():\n    assert 1 == 2; assert f(same(3, 4)) == 5\n")
        await workspace.write_file("a.py", CALLS.encode())
        assert await count_remaining_sites(given.scope, {"a.py": new, "c.py": b"same(0, 0)\n"}, workspace) == {
            "a.py": 1,
            "c.py": 1,
        }
        assert (await workspace.read_file("a.py"), await workspace.read_file("c.py")) == (CALLS.encode(), b"pass\n")


@pytest.mark.parametrize(
    ("site", "kind", "said"),
    [
        ({"engine": "ast-grep", "language": "klingon", "pattern": "x"}, UsageProblem, "klingon is not supported"),
        ({"engine": "ast-grep", "language": "python", "pattern": "nowhere()"}, NothingToMigrate, "in 5 files in scope"),
        ({"engine": "command", "run": "echo a.py:1; echo; echo nonsense"}, UsageProblem, "line 3 .*'nonsense'"),
        ({"engine": "command", "run": "echo broken >&2; exit 3"}, UsageProblem, "site s: its command exited 3: broken"),
        ({"engine": "command", "run": "no-such-tool"}, EnvironmentProblem, "no-such-tool"),
    ],
    ids=["language", "no match", "malformed", "exit code", "missing tool"],
)
async def test_what_is_wrong_with_a_site_is_said(
    root: Path, site: dict[str, Any], kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said):
        await build_inventory(options(root), recipe(scope={"include": ["*.py"], "site": [{"id": "s", **site}]}))


@pytest.mark.parametrize(
    ("more", "line", "said"),
    [
        (
            {"shard": {"by": ["command"], "run": "echo x"}},
            'run = "echo x"',
            "shard.run: the division into shards: line 1",
        ),
        (
            {"scope": {"include": ["*.py"], "site": [{"id": "a", "pattern": "same"}, BROKEN]}},
            'run = "exit 3"',
            "scope.site[1].run: site s: its command exited 3",
        ),
    ],
    ids=["shards", "sites"],
)
async def test_a_command_that_cannot_be_used_is_told_at_its_line_of_the_recipe(
    root: Path, more: dict[str, Any], line: str, said: str
) -> None:
    path = root.parent / "recipe.toml"
    path.write_text(render_recipe(recipe(**more)))
    number = path.read_text().splitlines().index(line) + 1
    with pytest.raises(UsageProblem) as problem, locate_problems(path):
        await build_inventory(options(root), load_recipe(path))
    assert str(problem.value).startswith(f"{path}:{number}: {said}")


async def test_a_step_for_what_is_left_takes_the_files_that_still_have_a_site_of_any_engine(root: Path) -> None:
    steps = [
        {"id": "first", "run": "case {files} in a.py) sed -i '4!s/same(/text(/g' {files};; esac"},
        {"id": "second", "run": "sed -i 's/same(/other(/g' {files}", "when": "sites-left"},
    ]
    ended = await run_migration(options(root), recipe(step=steps))
    assert {
        path: (file.status.value, file.rung) for path, file in ended.state.migration.files.items() if file.sites
    } == {
        ".odd dir/b.py": ("merged", 1),
        "a.py": ("merged", 0),
    }
    assert "'same(6, 7)'" in git(root, "show", f"{ended.state.run.branch}:a.py"), "a text is no site"


async def test_a_command_divides_the_files_and_the_division_is_recorded_with_the_files(root: Path) -> None:
    run = 'while read -r path; do printf \'%s\\tpart of %s\\n\' "$path" "${path%%[./]*}"; done'
    rules = {"by": ["command"], "run": run, "min_files": 1}
    scope = {"include": ["*.py"], "site": [{"id": "s", "pattern": "same|pass"}]}
    place = await create_migration_run(options(root), recipe(scope=scope, shard=rules))
    state = read_state(place.directory.journal)
    shards = {shard.name: shard.files for shard in state.migration.shards.values()}
    assert shards == {
        "part-of": (".odd dir/b.py",),
        "part-of-a": ("a.py",),
        "part-of-c": ("c.py",),
        "part-of-latin": ("latin.py",),
        "part-of-sub": ("sub/no.py",),
    }


async def test_a_migration_starts_from_the_base_that_its_recipe_names(root: Path) -> None:
    git(root, "switch", "-qc", "other")
    (root / "new.py").write_text("same(1, 1)\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "not on main")
    scope = {"include": ["*.py"], "site": [{"id": "s", "pattern": "same"}]}
    state = read_state(
        (
            await create_migration_run(options(root), recipe(scope=scope, migration={"id": "x", "base": "main"}))
        ).directory.journal
    )
    assert state.run.base == git(root, "rev-parse", "main")
    assert (state.run.target, "new.py" in state.migration.files) == ("main", False)
    with pytest.raises(UsageProblem, match="base = 'gone' names no commit"):
        await build_inventory(options(root), recipe(scope=scope, migration={"id": "x", "base": "gone"}))
