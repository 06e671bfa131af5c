"""What people tell a migration: what is refused, with the names that were meant, and what changes."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.commands.definitions import (
    Approve,
    Command,
    HoldShard,
    Publish,
    ReleaseShard,
    RetryFiles,
    Revise,
    RollbackShards,
    SkipFiles,
)
from orchestrator.domain.commands.goal import apply_command, explain_refusal
from orchestrator.domain.event.landing import LandedPart, LandingFinished
from orchestrator.domain.event.migration import (
    FileMoved,
    FilesFound,
    FoundFile,
    RecipeRevised,
    RollbackRefused,
    ShardReverted,
    ShardsPlanned,
)
from orchestrator.domain.event.people import ApprovalDecided, ApprovalRequested
from orchestrator.domain.event.run import PrOpened, RunEnded, RunStarted
from orchestrator.domain.fold.projection import fold_events
from orchestrator.domain.ids import CommitId, RunId, TreeId, UnitId
from orchestrator.domain.migration.files import FileStatus, Shard
from orchestrator.domain.recipe.model import read_recorded_recipe
from orchestrator.domain.run.approval import Approval
from orchestrator.domain.run.state import RunState
from tests.unit.domain.test_fold import record

TREE = TreeId("t" * 40)
COMMIT = CommitId("c" * 40)
RECIPE = {"schema": 1, "migration": {"id": "x"}, "scope": {"include": ["*.py"]}, "step": [{"id": "a"}]}
STARTED = RunStarted(
    run=RunId("r"),
    mode="migration",
    goal="x",
    started_at=datetime(2026, 1, 1, tzinfo=UTC),
    repository="/r",
    base=CommitId("b" * 40),
    base_tree=TREE,
    branch="migrate/x/r",
    target="main",
    settings={},
    recipe=RECIPE,
)
ENDED = RunEnded(outcome="partial", reason="", exit=3, head=COMMIT)


def moved(path: str, status: str, rung: int = 0) -> FileMoved:
    return FileMoved(path=path, status=FileStatus(status), rung=rung, blob="n", reason="r", signature="s")


LANDED = (
    moved("src/a.py", "transformed"),
    LandingFinished(
        key="land/c~0",
        branch="migrate/x/r",
        new=COMMIT,
        tree=TREE,
        units=(UnitId("src/a.py"),),
        parts=(LandedPart(name="core", commit=COMMIT, units=(UnitId("src/a.py"),)),),
    ),
    moved("src/a.py", "merged"),
)


def run(*events: object) -> RunState:
    """Three files: `src/a.py` landed with shard core, `src/b.py` was rejected, `lib/c.py` has a shard of its own."""
    files = FilesFound(
        files=tuple(FoundFile(path=p, blob="o", mode="100644") for p in ("src/a.py", "src/b.py", "lib/c.py"))
    )
    shards = ShardsPlanned(
        shards=(
            Shard(name="core", files=("src/a.py",)),
            Shard(name="core.r1", files=("src/b.py",)),
            Shard(name="lib", files=("lib/c.py",)),
        )
    )
    rejected = (moved("src/b.py", "restored"), moved("src/b.py", "rejected"))
    return fold_events(record(STARTED, files, shards, *LANDED, *rejected, *events))  # type: ignore[arg-type]


def told(state: RunState, command: Command) -> RunState:
    assert explain_refusal(state, command) == ""
    apply_command(state, command, "ada")
    return state


REFUSED = [
    (SkipFiles(files=("src/aa.py",)), "there is no file 'src/aa.py' in this run: did you mean src/a.py"),
    (SkipFiles(files=("c.py",)), "did you mean lib/c.py"),
    (SkipFiles(files=("zzz",)), "there are 3"),
    (SkipFiles(files=()), "no file is named"),
    (SkipFiles(files=("src/a.py",)), "src/a.py landed: take its shard back instead (migrate rollback RUN core)"),
    (RetryFiles(files=("src/a.py",)), "src/a.py landed"),
    (RetryFiles(files=("src/b.py", "lib/c.py")), "lib/c.py is on its way (discovered): it has not failed yet"),
    (HoldShard(shard="cores"), "there is no shard 'cores' in this run: did you mean core"),
    (HoldShard(shard="core"), "core has landed"),
    (ReleaseShard(shard="lib"), "lib is not held"),
    (RollbackShards(shards=("lib",)), "lib has not landed: hold it instead"),
    (RollbackShards(shards=()), "no shard is named"),
    (Revise(recipe=RECIPE), "the recipe is the one that the run has"),
    (Revise(recipe=RECIPE | {"scope": {"include": ["*"]}}), "cannot change [scope]: begin a new run"),
    (Revise(recipe=RECIPE | {"migration": {"id": "y"}, "env": {"setup": ["x"]}}), "migration.id, [env]"),
]


@pytest.mark.parametrize(("command", "why"), REFUSED)
def test_what_makes_no_sense_is_refused_with_what_was_meant(command: Command, why: str) -> None:
    assert why in explain_refusal(run(), command)


def test_a_run_of_a_goal_refuses_what_is_for_migrations() -> None:
    goal = fold_events(record(STARTED.model_copy(update={"mode": "goal"})))
    assert "this run carries a goal" in explain_refusal(goal, SkipFiles(files=("a",)))


def test_a_run_in_which_nothing_landed_has_nothing_to_publish() -> None:
    assert "nothing has landed" in explain_refusal(fold_events(record(STARTED)), Publish())


def test_a_file_that_is_left_out_says_who_did_so_and_why_and_cannot_be_left_out_twice() -> None:
    skip = SkipFiles(files=("lib/c.py",), reason="vendored")
    state = told(run(), skip)
    assert (state.migration.files["lib/c.py"].status, state.migration.files["lib/c.py"].reason) == (
        "skipped",
        "left out by ada: vendored",
    )
    assert "lib/c.py was left out already" in explain_refusal(state, skip)


@pytest.mark.parametrize("late", ["transformed", "restored", "discovered", "unchanged"])
def test_what_a_step_still_tells_of_a_file_that_was_left_out_meanwhile_changes_nothing(late: str) -> None:
    state = told(run(), SkipFiles(files=("lib/c.py",)))
    assert fold_events(record(moved("lib/c.py", late)), onto=state).migration.files["lib/c.py"].status == "skipped"


def test_a_file_that_lands_while_it_is_left_out_has_landed() -> None:
    state = told(run(moved("lib/c.py", "transformed")), SkipFiles(files=("lib/c.py",)))
    file = fold_events(record(moved("lib/c.py", "merged")), onto=state).migration.files["lib/c.py"]
    assert (file.status, file.landed, file.is_overtaken) == ("merged", "n", False)


def test_files_are_tried_again_from_the_first_rung_and_the_run_is_open_again() -> None:
    state = told(run(ENDED), RetryFiles(files=("src/b.py",), note="mind the decorator"))
    file = state.migration.files["src/b.py"]
    assert (file.status, file.rung, file.note, file.signature) == ("discovered", -1, "mind the decorator", "s")
    assert state.ended is None


def test_a_shard_is_held_with_its_reason_until_it_is_released() -> None:
    state = told(run(), HoldShard(shard="lib", reason="release week"))
    assert (state.migration.shards["lib"].held, state.migration.get_shard_status(state.migration.shards["lib"])) == (
        "held by ada: release week",
        "held",
    )
    assert "held by ada" in explain_refusal(state, HoldShard(shard="lib"))
    assert told(state, ReleaseShard(shard="lib")).migration.shards["lib"].held == ""


def test_a_shard_that_is_wanted_back_waits_until_it_is_taken_back_or_cannot_be() -> None:
    back = RollbackShards(shards=("core",), reason="slow")
    state = told(run(ENDED), back)
    assert (state.migration.requested_rollbacks, state.migration.rollback_reasons["core"], state.ended) == (
        ("core",),
        "taken back by ada: slow",
        None,
    )
    refused = fold_events(record(RollbackRefused(shard="core", reason="the rest needs it")), onto=state)
    assert (refused.migration.requested_rollbacks, refused.migration.rollback_reasons["core"]) == (
        (),
        "the rest needs it",
    )
    state = fold_events(record(ShardReverted(shard="core", commit="d" * 40)), onto=told(refused, back))
    assert (state.migration.requested_rollbacks, state.migration.get_shard_status(state.migration.shards["core"])) == (
        (),
        "reverted",
    )
    assert "core was taken back already" in explain_refusal(state, back)


def test_a_wish_for_pull_requests_holds_until_they_are_open_or_the_run_ends() -> None:
    state = told(run(ENDED), Publish(groups=("core", "lib")))
    assert (state.migration.requested_publications, state.ended) == (("core", "lib"), None)
    opened = PrOpened(key="pr/x~0", forge="local", ref="1", url="u", group="core", branch="b", head="h")
    assert fold_events(record(opened), onto=state).migration.requested_publications == ("lib",)
    assert told(state, Publish()).migration.requested_publications == ("lib", "*")
    assert fold_events(record(ENDED), onto=state).migration.requested_publications == ()


NEW = RECIPE | {"step": [{"id": "b"}]}


def test_a_revision_waits_until_the_engine_has_told_which_files_it_concerns() -> None:
    state = told(run(ENDED), Revise(recipe=NEW))
    assert (state.migration.requested_recipe, state.migration.recipe, state.ended) == (
        read_recorded_recipe(NEW),
        read_recorded_recipe(RECIPE),
        None,
    )
    state = fold_events(record(RecipeRevised(recipe=NEW, revision="2", redo=("src/b.py",))), onto=state)
    assert (state.migration.requested_recipe, state.migration.recipe, state.migration.files["src/b.py"].status) == (
        None,
        read_recorded_recipe(NEW),
        "discovered",
    )


def test_a_proposed_recipe_can_be_accepted_after_the_run_has_ended() -> None:
    asked = Approval(item="recipe/1", matter="recipe", subject="1", title="t", recipe=NEW)
    other = Approval(item="sample/1", matter="sample", subject="1", title="t")
    state = run(ApprovalRequested(approval=asked), ApprovalRequested(approval=other), ENDED)
    assert explain_refusal(state, Approve(item="recipe/1")) == ""
    assert "the run has ended" in explain_refusal(state, Approve(item="sample/1"))
    no = fold_events(
        record(ApprovalDecided(item="recipe/1", decision="reject", by="ada")),
        onto=run(*[ApprovalRequested(approval=asked), ENDED]),
    )
    assert (no.migration.requested_recipe, no.ended) == (None, ENDED)
    yes = fold_events(record(ApprovalDecided(item="recipe/1", decision="approve", by="ada")), onto=state)
    assert (yes.migration.requested_recipe, yes.ended) == (read_recorded_recipe(NEW), None)


def test_a_proposed_recipe_is_asked_about_no_longer_once_the_recipe_was_revised_otherwise() -> None:
    asked = Approval(item="recipe/1", matter="recipe", subject="1", title="t", recipe=NEW)
    other = Approval(item="sample/1", matter="sample", subject="sample", title="t")
    state = run(ApprovalRequested(approval=asked), ApprovalRequested(approval=other))
    revised = fold_events(record(RecipeRevised(recipe=NEW, revision="r2", redo=(), by="ada")), onto=state)
    assert [one.approval.item for one in revised.pending_approvals] == ["sample/1"]
    late = explain_refusal(revised, Approve(item="recipe/1"))
    assert late == "q1 recipe/1 is closed: the recipe was revised to r2; waiting: q2 sample/1"


COMMANDS = st.one_of(
    st.builds(SkipFiles, files=st.lists(st.sampled_from(["src/a.py", "src/b.py", "lib/c.py", "x"])).map(tuple)),
    st.builds(RetryFiles, files=st.lists(st.sampled_from(["src/a.py", "src/b.py", "lib/c.py"])).map(tuple)),
    st.builds(HoldShard, shard=st.sampled_from(["core", "lib", "x"])),
    st.builds(ReleaseShard, shard=st.sampled_from(["core", "lib", "x"])),
    st.builds(RollbackShards, shards=st.lists(st.sampled_from(["core", "lib"])).map(tuple)),
    st.builds(Publish, groups=st.just(("core",))),
)


@given(st.lists(COMMANDS, max_size=8), st.sampled_from(list(FileStatus)))
def test_whatever_is_not_refused_can_be_obeyed(commands: list[Command], status: FileStatus) -> None:
    state = run()
    state.migration.files["lib/c.py"] = state.migration.files["lib/c.py"].model_copy(update={"status": status})
    for command in commands:
        if not explain_refusal(state, command):
            apply_command(state, command, "ada")
    assert not {"src/a.py"} - {p for p, f in state.migration.files.items() if f.status == "merged"}, (
        "what landed stays landed"
    )
