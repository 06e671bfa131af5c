"""Groups of pull requests: names, titles, divisions that stay as they are while more lands."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.event.landing import LandedPart, LandingFinished
from orchestrator.domain.ids import CommitId, TreeId, UnitId
from orchestrator.domain.migration.files import FileRecord, Shard
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.run.migration_state import MigrationState
from orchestrator.domain.run.state import RunState
from orchestrator.migrate.landing.pr_groups import format_pr_title, format_ref_part, group_shards
from tests.running.shards import shard_recipe


def landed(sizes: list[int], recipe: Recipe) -> tuple[tuple[str, ...], ...]:
    """Shards of so many files that landed in this order, as they are grouped."""
    shards, parts = {}, []
    for number, size in enumerate(sizes):
        files = tuple(f"d{number % 2}/sub/{number}-{n}.txt" for n in range(size))
        commit = CommitId(f"{number:040}")
        shards[f"s{number}"] = Shard(name=f"s{number}", files=files, owner=f"@o{number % 3}", commit=commit)
        parts.append(LandedPart(name=f"s{number}", commit=commit, units=tuple(map(UnitId, files))))
    new = CommitId("e" * 40)
    landing = LandingFinished(key="l", branch="b", new=new, tree=TreeId("t"), units=(), parts=tuple(parts))
    files_ = {path: FileRecord(path=path, base="b", mode="100644") for one in shards.values() for path in one.files}
    state = RunState(migration=MigrationState(shards=dict(reversed(shards.items())), files=files_), landings=[landing])
    return tuple((group.name, *group.shards) for group in group_shards(state, recipe))


@pytest.mark.parametrize(
    ("merge", "expected"),
    [
        ({"group_pr": "shard"}, (("s0", "s0"), ("s1", "s1"), ("s2", "s2"), ("s3", "s3"))),
        ({"group_pr": "owner"}, (("@o0", "s0", "s3"), ("@o1", "s1"), ("@o2", "s2"))),
        ({"group_pr": "directory"}, (("d0/sub", "s0", "s2"), ("d1/sub", "s1", "s3"))),
        ({"max_files_per_pr": 4}, (("all", "s0", "s1"), ("all-2", "s2", "s3"))),
        ({"max_files_per_pr": 1}, (("all", "s0"), ("all-2", "s1"), ("all-3", "s2"), ("all-4", "s3"))),
    ],
)
def test_shards_are_grouped_in_landing_order(merge: dict[str, object], expected: object) -> None:
    assert landed([2, 2, 2, 2], shard_recipe(merge=merge)) == expected


@given(st.lists(st.integers(1, 5), min_size=1, max_size=8), st.integers(1, 6), st.integers(1, 5))
def test_what_lands_later_moves_no_shard_to_another_group(sizes: list[int], most: int, more: int) -> None:
    recipe = shard_recipe(merge={"group_pr": "owner", "max_files_per_pr": most})
    before, after = landed(sizes, recipe), landed([*sizes, more], recipe)
    grouped = {name: shards for name, *shards in after}
    assert all(grouped[name][: len(shards)] == shards for name, *shards in before)


@given(st.text(max_size=30), st.text(max_size=30))
def test_names_of_groups_become_parts_of_refs_that_differ(one: str, other: str) -> None:
    parts = {format_ref_part(one), format_ref_part(other)}
    assert len(parts) == len({one, other})
    assert not any(char in part for part in parts for char in " ~^:?*[\\/.@")


def test_a_title_says_which_migration_and_which_group() -> None:
    recipe = shard_recipe(merge={"title": "[{migration.id}] {shard.name}: {shard.files} of {other}"})
    assert format_pr_title(recipe, "core", 3) == "[words] core: 3 of {other}"
    assert (format_pr_title(shard_recipe(), "core", 3), format_pr_title(shard_recipe(), "", 3)) == (
        "Better words: core",
        "Better words",
    )
