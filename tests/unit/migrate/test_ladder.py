"""The ladder: which steps go together, which files each takes, where every file ends."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.recipe.step import CommandStep
from orchestrator.domain.transitions import FILE_TRANSITIONS
from orchestrator.migrate.ladder.passes import (
    Pass,
    can_take_file,
    find_final_status,
    is_changed,
    list_files_to_queue,
    list_passes,
)

WHEN = ("always", "sites", "sites-left", "failed")


def recipe(*when: str) -> Recipe:
    return Recipe.model_validate(
        {
            "schema": 1,
            "migration": {"id": "x"},
            "scope": {"include": ["*"]},
            "step": [{"id": f"s{n}", "run": "{files}", "when": name} for n, name in enumerate(when)],
            "verify": {"check": [{"id": "t", "run": "t"}]},
        }
    )


def file(status: FileStatus = FileStatus.DISCOVERED, **changes: object) -> FileRecord:
    values = {"path": "a.py", "base": "old", "mode": "100644", "status": status, "rung": -1} | changes
    return FileRecord.model_validate(values)


def test_steps_for_failed_files_come_after_the_queue_has_said_which_failed() -> None:
    assert list_passes(recipe("sites", "sites-left", "failed", "failed", "always")) == [
        *(Pass((0, 1)), Pass((2,)), Pass((3,)), Pass((4,)))
    ]
    assert list_passes(recipe("always")) == [Pass((0,))]


def model_recipe(when: str = "failed") -> Recipe:
    """A codemod, a model with three attempts, a person."""
    values = recipe("sites").dump_values()
    tail = {"id": "tail", "kind": "llm", "when": when, "attempts": 3}
    return Recipe.model_validate(values | {"step": [*values["step"], tail, {"id": "hand", "kind": "human"}]})


def test_a_step_that_asks_a_model_has_a_pass_for_each_attempt_and_a_person_comes_after_all() -> None:
    assert list_passes(model_recipe()) == [Pass((0,)), Pass((1,), 1), Pass((1,), 2), Pass((1,), 3), Pass((2,))]
    assert list_passes(model_recipe("sites-left")) == [Pass((0, 1)), Pass((1,), 2), Pass((1,), 3), Pass((2,))]


def test_a_further_attempt_takes_what_failed_in_the_one_before_whatever_it_failed_with() -> None:
    tail = model_recipe().step[1].model_copy(update={"on_signature": "boom"})
    failed = file(FileStatus.EJECTED, rung=0, signature="a boom")
    assert can_take_file(tail, 1, failed, 0, counts_sites=True)
    assert not can_take_file(tail, 1, failed.model_copy(update={"signature": "a bang"}), 0, counts_sites=True)
    again = file(FileStatus.RESTORED, rung=1, attempt=1, signature="a bang")
    assert can_take_file(tail, 1, again, 0, counts_sites=True, attempt=2)
    assert not can_take_file(tail, 1, again.model_copy(update={"attempt": 2}), 0, counts_sites=True, attempt=2)
    assert not can_take_file(tail, 1, file(FileStatus.TRANSFORMED, rung=1, attempt=1), 0, counts_sites=True, attempt=2)
    assert not can_take_file(tail, 1, file(FileStatus.EJECTED, rung=0), 0, counts_sites=True, attempt=2)


def test_a_person_gets_what_failed_and_what_no_step_changed_but_nothing_that_is_fine() -> None:
    hand = model_recipe().step[2]
    assert can_take_file(hand, 2, file(FileStatus.EJECTED, rung=1), 0, counts_sites=True)
    assert can_take_file(hand, 2, file(sites=1), 1, counts_sites=True)
    assert not can_take_file(hand, 2, file(sites=0), 0, counts_sites=True)
    assert not can_take_file(hand, 2, file(FileStatus.MERGED, rung=1), 0, counts_sites=True)
    only_failed = hand.model_copy(update={"when": "failed"})
    assert not can_take_file(only_failed, 2, file(sites=1), 1, counts_sites=True)


def test_files_without_a_site_are_left_alone_only_if_the_recipe_counts_sites() -> None:
    step = recipe("sites").step[0]
    assert not can_take_file(step, 0, file(sites=0), 0, counts_sites=True)
    assert can_take_file(step, 0, file(sites=2), 2, counts_sites=True)
    assert can_take_file(step, 0, file(sites=0), 0, counts_sites=False)


def test_what_is_left_over_is_counted_now() -> None:
    step = recipe("always", "sites-left").step[1]
    assert can_take_file(step, 1, file(sites=3, rung=0), 1, counts_sites=True)
    assert not can_take_file(step, 1, file(sites=3, rung=0), 0, counts_sites=True)


def test_failed_files_are_taken_by_steps_for_failed_files_alone() -> None:
    always, failed = recipe("always", "failed").step
    for status in (FileStatus.EJECTED, FileStatus.RESTORED):
        assert can_take_file(failed, 1, file(status, rung=0), 0, counts_sites=False)
        assert not can_take_file(always, 1, file(status, rung=0), 0, counts_sites=False)
    assert not can_take_file(failed, 1, file(FileStatus.TRANSFORMED, rung=0), 0, counts_sites=False)


def test_only_a_new_content_is_queued() -> None:
    changed = file(FileStatus.TRANSFORMED, blob="new")
    back = file(FileStatus.TRANSFORMED, blob="old", path="b.py")
    assert list_files_to_queue([back, changed, file(path="c.py")]) == [changed]
    assert not is_changed(back)


def test_a_change_that_did_not_land_is_rejected_and_none_at_all_is_told_apart() -> None:
    assert find_final_status(file(FileStatus.RESTORED, tried="broken")) == FileStatus.REJECTED
    assert find_final_status(file(FileStatus.RESTORED)) == FileStatus.UNCHANGED
    assert find_final_status(file(sites=1)) == FileStatus.UNCHANGED
    assert find_final_status(file()) == FileStatus.NOTHING_TO_DO


files = st.builds(
    file,
    st.sampled_from(FileStatus),
    sites=st.integers(0, 2),
    rung=st.integers(-1, 3),
    tried=st.sampled_from([None, "x"]),
    blob=st.sampled_from([None, "old", "new"]),
)


@given(files)
def test_every_file_has_an_end_that_its_status_may_move_to(one: FileRecord) -> None:
    end = find_final_status(one)
    assert (end is None) == one.status.is_terminal
    assert end is None or end in FILE_TRANSITIONS[one.status]


@given(files, st.lists(st.sampled_from(WHEN), min_size=1, max_size=4), st.booleans())
def test_no_step_takes_a_file_twice_nor_one_that_has_its_end(one: FileRecord, when: list[str], counts: bool) -> None:
    steps = [CommandStep.model_validate({"id": f"s{n}", "run": "{files}", "when": name}) for n, name in enumerate(when)]
    for index, step in enumerate(steps):
        if can_take_file(step, index, one, one.sites, counts):
            assert not one.status.is_terminal
            assert one.rung < index
