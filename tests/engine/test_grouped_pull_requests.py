"""Pull requests by group: each is green on its own, few are open at a time, and what is shown only goes forward."""

import json
import os
from pathlib import Path

import pytest

from orchestrator.domain.commands.definitions import Approve, Publish, RollbackShards
from orchestrator.domain.migration.files import Shard
from orchestrator.domain.recipe.model import Recipe
from orchestrator.engine.context import RunContext
from orchestrator.engine.run_end import end_run
from orchestrator.errors import PersonNeeded
from orchestrator.migrate.landing.pull_requests import publish_pull_requests
from orchestrator.migrate.landing.rollback import roll_back_shards
from orchestrator.run_control.migration_commands import list_due_groups
from tests.running.migrating import SED, Migrated, recipe, words
from tests.running.projects import git, refs
from tests.running.shards import again, begun, land, project, shard_recipe, told

pytestmark = pytest.mark.sandbox

PATHS = ("lib/a.txt", "lib/b.txt", "app/c.txt", "app/d.txt")
SHARDS = [
    Shard(name="lib", files=("lib/a.txt", "lib/b.txt"), owner="@core"),
    Shard(name="app", files=("app/c.txt",), owner="@web"),
    Shard(name="app-2", files=("app/d.txt",), owner="@web"),
]
NEW = dict.fromkeys(PATHS, "new\n")


def root(tmp_path: Path, **tests: str) -> Path:
    words = {f"word_{n}": f"first('{path}') in ('old', 'new')" for n, path in enumerate(PATHS)}
    return project(tmp_path / "repo", words | tests, dict.fromkeys(PATHS, "old\n"))


def grouped(by: str, **more: object) -> Recipe:
    return shard_recipe(merge={"group_pr": by, **more})


async def opened(context: RunContext, recipe: Recipe) -> dict[str, str]:
    """Group → the files that its pull request changes, after everything was published that may be."""
    await publish_pull_requests(context, recipe, context.gate, "it went well")
    base = context.state.run.base
    return {
        name: git(context.repository.root, "diff", "--name-only", base, pr.branch).replace("\n", " ")
        for name, pr in context.state.migration.prs.items()
    }


def pull_request(repo: Path, number: int) -> dict[str, object]:
    told_: dict[str, object] = json.loads(git(repo, "show", f"refs/orchestrate/prs/{number}:pr.json"))
    return told_


async def test_each_owner_gets_a_pull_request_with_exactly_their_commits(tmp_path: Path) -> None:
    repo = root(tmp_path)
    recipe = grouped("owner", title="[{migration.id}] {shard.name} ({shard.files})", labels=["migration"], draft=True)
    async with begun(repo, recipe) as (_, context):
        await land(context, SHARDS, NEW)
        assert await opened(context, recipe) == {"@core": "lib/a.txt lib/b.txt", "@web": "app/c.txt app/d.txt"}
        web = context.state.migration.prs["@web"]
        subjects = git(repo, "log", "--format=%s", f"{context.state.run.base}..{web.branch}").splitlines()
        assert subjects == ["Better words: app-2", "Better words: app"]
        told_ = pull_request(repo, 2)
        assert told_["title"] == "[words] @\u200bweb (2)"
        assert (told_["labels"], told_["draft"], told_["head"]) == (["migration"], True, web.branch)
        page = git(repo, "show", f"{web.ref}:PR.md")
        assert "app/d.txt" in page
        assert "lib/a.txt" not in page, "the others' files are none of theirs"
        before = refs(repo)
        await opened(context, recipe)
        assert {ref: at for ref, at in refs(repo).items() if "prs" not in ref} == {
            ref: at for ref, at in before.items() if "prs" not in ref
        }


@pytest.mark.extended
async def test_groups_that_are_only_green_together_are_opened_as_one(tmp_path: Path) -> None:
    same = "first('app/c.txt') == first('lib/a.txt')"
    repo, recipe = root(tmp_path, same=same), grouped("shard")
    async with begun(repo, recipe) as (_, context):
        await land(context, SHARDS, NEW)
        assert await opened(context, recipe) == {"app-2": "app/d.txt", "together": "app/c.txt lib/a.txt lib/b.txt"}
        assert any("not green on their own: lib, app; they are opened as one" in n.text for n in context.state.notices)


async def test_one_group_that_cannot_stand_alone_makes_the_whole_one_pull_request(tmp_path: Path) -> None:
    needs = "first('app/c.txt') == 'old' or first('lib/a.txt') == 'new'"
    repo, recipe = root(tmp_path, needs=needs), grouped("shard")
    async with begun(repo, recipe) as (_, context):
        await land(context, SHARDS, NEW)
        assert await opened(context, recipe) == {}
        assert context.state.pr is not None
        assert (context.state.pr.group, context.state.pr.branch) == ("", context.branch.name)


async def test_with_pull_requests_only_what_is_not_green_alone_is_kept_back_and_named(tmp_path: Path) -> None:
    needs = "first('app/c.txt') == 'old' or first('lib/a.txt') == 'new'"
    repo, recipe = root(tmp_path, needs=needs), grouped("shard", mode="pr-only")
    async with begun(repo, recipe) as (_, context):
        await land(context, SHARDS, NEW)
        assert await publish_pull_requests(context, recipe, context.gate, "it went well") == ("app",)
        assert set(context.state.migration.prs) == {"lib", "app-2"}
        assert context.state.pr is None or context.state.pr.group
        assert "refs/heads/" + context.branch.name + "--app" not in refs(repo)


async def test_with_pull_requests_only_there_is_one_even_for_everything(tmp_path: Path) -> None:
    repo, recipe = root(tmp_path), grouped("all", mode="pr-only")
    async with begun(repo, recipe) as (_, context):
        await land(context, SHARDS, NEW)
        assert await opened(context, recipe) == {"all": "app/c.txt app/d.txt lib/a.txt lib/b.txt"}


@pytest.mark.extended
async def test_only_so_many_are_open_until_others_are_merged_or_a_person_asks(tmp_path: Path) -> None:
    repo, recipe = root(tmp_path), grouped("shard", max_open_prs=1)
    async with begun(repo, recipe) as (place, context):
        await land(context, SHARDS, NEW)
        assert list(await opened(context, recipe)) == ["lib"]
        assert "app, app-2" in context.state.notices[-1].text
        assert list(await opened(context, recipe)) == ["lib"]
        await end_run(context, "done", "as far as it goes")
        assert await list_due_groups(place, context.state) == ()
        git(repo, "merge", "-q", "--squash", context.state.migration.prs["lib"].branch)
        git(repo, "commit", "-q", "-m", "squashed")
        assert await list_due_groups(place, context.state) == ("app",), "which is what `resume` then has opened"
        assert list(await opened(context, recipe)) == ["lib", "app"]
        await told(context, Publish(groups=("app-2",)))
        assert list(await opened(context, recipe)) == ["lib", "app", "app-2"]


async def test_a_group_is_divided_by_files_and_grows_forward_when_more_lands(tmp_path: Path) -> None:
    repo, recipe = root(tmp_path), shard_recipe(merge={"max_files_per_pr": 2})
    async with begun(repo, recipe) as (_, context):
        await land(context, SHARDS[:2], dict.fromkeys(PATHS[:3], "new\n"))
        assert await opened(context, recipe) == {"all": "lib/a.txt lib/b.txt", "all-2": "app/c.txt"}
        first = context.state.migration.prs["all-2"].head
        await land(context, SHARDS[2:], {"app/d.txt": "new\n"})
        assert (await opened(context, recipe))["all-2"] == "app/c.txt app/d.txt"
        assert git(repo, "rev-list", "--count", f"{first}..{context.state.migration.prs['all-2'].branch}") == "1"


@pytest.mark.extended
async def test_what_is_taken_back_leaves_its_pull_request_by_one_more_commit(tmp_path: Path) -> None:
    repo, recipe = root(tmp_path), grouped("owner")
    async with begun(repo, recipe) as (_, context):
        await land(context, SHARDS, NEW)
        await opened(context, recipe)
        first = context.state.migration.prs["@web"].head
        await told(context, RollbackShards(shards=("app",)))
        await roll_back_shards(context, recipe, context.gate)
        assert (await opened(context, recipe))["@web"] == "app/d.txt"
        assert git(repo, "rev-list", "--count", f"{first}..{context.state.migration.prs['@web'].branch}") == "1"


@pytest.mark.extended
async def test_a_branch_that_somebody_moved_is_left_alone_and_told_of(tmp_path: Path) -> None:
    repo, recipe = root(tmp_path), grouped("owner")
    async with begun(repo, recipe) as (_, context):
        await land(context, SHARDS, NEW)
        await opened(context, recipe)
        branch = context.state.migration.prs["@web"].branch
        theirs = git(repo, "commit-tree", "-m", "mine", "-p", branch, f"{branch}^{{tree}}")
        git(repo, "branch", "-f", branch, theirs)
        await opened(context, recipe)
        assert git(repo, "rev-parse", branch) == theirs
        assert f"the branch {branch} was moved by somebody" in context.state.notices[-1].text


async def test_a_person_is_asked_for_each_group_and_the_answered_ones_are_opened(tmp_path: Path) -> None:
    repo, recipe = root(tmp_path), grouped("owner")
    async with begun(repo, recipe, approval={"mode": "pr"}) as (place, context):
        await land(context, SHARDS, NEW)
        with pytest.raises(PersonNeeded):
            await opened(context, recipe)
        items = [one.approval.item for one in context.state.pending_approvals]
        assert [item.rpartition("/")[0] for item in items] == ["pull-request/@core", "pull-request/@web"]
        await told(context, Approve(item=items[1]))
    async with again(place) as context:
        with pytest.raises(PersonNeeded):
            await opened(context, recipe)
        assert list(context.state.migration.prs) == ["@web"]


async def test_what_is_taken_back_before_anybody_said_yes_leaves_the_branch_by_one_more_commit(tmp_path: Path) -> None:
    repo, recipe = root(tmp_path), grouped("owner")
    async with begun(repo, recipe, approval={"mode": "pr"}) as (place, context):
        await land(context, SHARDS, NEW)
        with pytest.raises(PersonNeeded):
            await opened(context, recipe)
        await told(context, RollbackShards(shards=("app",)))
    async with again(place) as context:
        await roll_back_shards(context, recipe, context.gate)
        with pytest.raises(PersonNeeded):
            await opened(context, recipe)
        await told(context, *(Approve(item=one.approval.item) for one in context.state.pending_approvals))
        assert (await opened(context, recipe))["@web"] == "app/d.txt"
        assert git(repo, "rev-list", "--count", f"main..{context.state.migration.prs['@web'].branch}") == "3"


@pytest.mark.extended
@pytest.mark.usefixtures("short_watch")
async def test_locks_that_a_killed_git_left_on_branches_and_pull_requests_stand_in_nobodys_way(tmp_path: Path) -> None:
    repo, recipe = root(tmp_path), grouped("owner")
    async with begun(repo, recipe) as (place, context):
        await land(context, SHARDS[:2], dict.fromkeys(PATHS[:3], "new\n"))
        await opened(context, recipe)
        shown = context.state.migration.prs["@web"]
        await land(context, SHARDS[2:], {"app/d.txt": "new\n"})
    for ref in (f"refs/heads/{shown.branch}", shown.ref):
        lock = repo / ".git" / f"{ref}.lock"
        lock.touch()
        os.utime(lock, (0, 0))
    async with again(place) as context:
        assert (await opened(context, recipe))["@web"] == "app/c.txt app/d.txt"
        assert git(repo, "rev-list", "--count", shown.ref) == "2"


PAIR = """import pathlib
import unittest


class PairTest(unittest.TestCase):
    def test_app_speaks_as_lib_does(self):
        if "new" in pathlib.Path("app/a.txt").read_text():
            self.assertIn("new", pathlib.Path("lib/a.txt").read_text())
"""


async def test_a_migration_that_keeps_a_pull_request_back_ends_partial_and_names_it(tmp_path: Path) -> None:
    migrated = Migrated(words(tmp_path / "repo", {"lib/a.txt": "old", "app/a.txt": "old", "test_pair.py": PAIR}))
    ended = await migrated.run(recipe({"run": SED}, merge={"mode": "pr-only", "group_pr": "directory"}))
    assert (ended.exit_code, ended.state.ended and ended.state.ended.outcome) == (3, "partial")
    assert "not opened, as they are not green alone: app" in str(ended.state.ended)
    assert set(ended.state.migration.prs) == {"lib"}
