"""Taking shards back: the rest stays and is judged anew, and what the rest needs stays as well."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.commands.definitions import RollbackShards
from orchestrator.domain.event.landing import TrialJudged
from orchestrator.domain.event.migration import RollbackRefused, ShardReverted
from orchestrator.domain.migration.files import FileStatus, Shard
from orchestrator.engine.context import RunContext
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.migrate.landing.rollback import roll_back_shards
from tests.running.projects import git, tree_at
from tests.running.shards import again, begun, land, project, shard_recipe, told

pytestmark = pytest.mark.sandbox

RECIPE = shard_recipe()
A, B, C = (Shard(name=name, files=(f"{name}.txt",)) for name in "abc")
OLD = "old\n2\n3\n4\n5\n6\n7\n8\n"
NEW = OLD.replace("old", "new")
NEEDS = "first('b.txt') == 'old' or first('a.txt') == 'new'"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Three files, of which `b.txt` may only be new while `a.txt` is."""
    return project(tmp_path / "repo", {"b_needs_a": NEEDS, "c": "first('c.txt')"}, {f"{n}.txt": OLD for n in "abc"})


async def take_back(context: RunContext, *shards: str, reason: str = "") -> None:
    await told(context, RollbackShards(shards=shards, reason=reason))
    await roll_back_shards(context, RECIPE, context.gate)


def events(context: RunContext, kind: type[Any]) -> list[Any]:
    return [one.event for one in read_all_events(context.directory.journal) if isinstance(one.event, kind)]


def words(root: Path, context: RunContext) -> str:
    """The first word of each file on the branch."""
    branch = context.branch.name
    return " ".join(git(root, "show", f"{branch}:{name}.txt").split()[0] for name in "abc")


async def test_a_shard_is_taken_back_and_the_rest_is_judged_on_the_exact_tree(root: Path) -> None:
    async with begun(root, RECIPE) as (_, context):
        await land(context, [A, B, C], {f"{n}.txt": NEW for n in "abc"})
        await take_back(context, "c", reason="too slow")
        assert words(root, context) == "new new old"
        state, tip = context.state, git(root, "rev-parse", context.branch.name)
        (done,) = events(context, ShardReverted)
        assert (done.shard, done.commit, done.reason) == ("c", tip, "taken back by ada: too slow")
        trial = events(context, TrialJudged)[-1]
        assert (trial.tree, trial.difference.is_green) == (tree_at(root, context.branch.name), True)
        file = state.migration.files["c.txt"]
        assert (file.status, file.landed, file.blob, state.migration.get_shard_status(state.migration.shards["c"])) == (
            *(FileStatus.REVERTED, None, None),
            "reverted",
        )
        message = git(root, "log", "-1", "--format=%B", tip)
        assert "Take back Better words: c" in message
        assert {"Reverts-Shard: c", "Migration-Id: words"} <= set(message.splitlines())
        assert [state.migration.files[f"{n}.txt"].status for n in "ab"] == ["merged", "merged"]


async def test_what_the_rest_needs_stays_and_the_tests_are_named_that_would_be_lost(root: Path) -> None:
    async with begun(root, RECIPE) as (_, context):
        await land(context, [A, B, C], {f"{n}.txt": NEW for n in "abc"})
        await take_back(context, "a", "c")
        assert words(root, context) == "new new old"
        (refused,) = events(context, RollbackRefused)
        assert (refused.shard, len(refused.tests)) == ("a", 1)
        assert "the rest would lose 1 test" in refused.reason
        assert "test_b_needs_a" in refused.reason
        assert (context.state.migration.requested_rollbacks, context.state.migration.files["a.txt"].status) == (
            (),
            FileStatus.MERGED,
        )
        await take_back(context, "a", "b")
        assert words(root, context) == "old old old", "together they can go"


async def test_later_changes_of_other_lines_stay_and_of_the_same_lines_stand_in_the_way(root: Path) -> None:
    async with begun(root, RECIPE) as (_, context):
        await land(context, [B, C], {"b.txt": OLD.replace("2", "two"), "c.txt": NEW})
        later = [Shard(name="b.r1", files=("b.txt",)), Shard(name="c.r1", files=("c.txt",))]
        await land(context, later, {"b.txt": OLD.replace("2", "zwei"), "c.txt": NEW.replace("8", "eight")})
        await take_back(context, "b", "c")
        (refused,) = events(context, RollbackRefused)
        assert (refused.shard, refused.paths) == ("b", ("b.txt",))
        assert "b.txt changed again since it landed" in refused.reason
        branch = context.branch.name
        assert git(root, "show", f"{branch}:c.txt") == OLD.replace("8", "eight").strip()
        assert context.state.migration.files["c.txt"].landed == git(root, "rev-parse", f"{branch}:c.txt")
        assert git(root, "show", f"{branch}:b.txt") == OLD.replace("2", "zwei").strip()


async def test_an_undoing_that_landed_before_the_process_died_is_only_booked(root: Path) -> None:
    async with begun(root, RECIPE) as (place, context):
        await land(context, [A, B], {"a.txt": NEW, "b.txt": NEW})
    tips = []

    class Dies:
        """Ends the process, as far as the run can tell, when the branch has moved and nobody has booked it."""

        def on_run_opened(self, state: object) -> None:
            """Nothing is to be done."""

        def on_event_recorded(self, recorded: Any) -> None:
            if recorded.event.kind == "landing.finished":
                raise MemoryError

    with pytest.raises(MemoryError):
        async with again(place, Dies()) as context:
            await take_back(context, "b")
    tips.append(git(root, "rev-parse", context.branch.name))
    async with again(place) as context:
        assert context.state.migration.requested_rollbacks == ("b",)
        await roll_back_shards(context, RECIPE, context.gate)
        await roll_back_shards(context, RECIPE, context.gate)
        assert git(root, "rev-parse", context.branch.name) == tips[0]
        assert (len(events(context, ShardReverted)), context.state.migration.files["b.txt"].status) == (
            1,
            FileStatus.REVERTED,
        )
