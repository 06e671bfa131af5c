"""The sample and the waves after it."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.migration.files import FileRecord, SitePlace
from orchestrator.domain.recipe.shard import Sample
from orchestrator.errors import UsageProblem
from orchestrator.migrate.sharding.sampling import choose_sample, plan_wave_sizes


def file(path: str, *kinds: str) -> FileRecord:
    places = tuple(SitePlace(site=kind, line=line) for line, kind in enumerate(kinds, start=1))
    return FileRecord(path=path, base="b", mode="100644", sites=len(kinds), places=places)


def sample(**values: object) -> Sample:
    return Sample.model_validate(values)


def test_a_stratified_sample_has_each_directory_kind_and_size() -> None:
    many = [file(f"common/{n}.py", "a") for n in range(50)]
    rare = [file("rare/1.py", "a"), file("common/odd.py", "b"), file("common/large.py", *["a"] * 40)]
    for seed in range(5):
        chosen = choose_sample([*many, *rare], sample(files=4, seed=seed))
        assert {one.path for one in rare} < set(chosen)
        assert len(chosen) == 4


def test_partners_come_along() -> None:
    files = [file("src/a.py", "x"), file("tests/test_a.py", "x"), file("src/b.py", "x")]
    pair = ["src/(.+)\\.py -> tests/test_\\1.py"]
    listed = sample(pick="list", paths=["tests/test_a.py"])
    assert choose_sample(files, listed, pair) == ("src/a.py", "tests/test_a.py")


def test_a_listed_path_that_is_no_file_of_the_migration_is_refused_with_a_near_one() -> None:
    with pytest.raises(UsageProblem, match=r"'src/o.py' .* did you mean src/a.py"):
        choose_sample([file("src/a.py", "x")], sample(pick="list", paths=["src/o.py"]))


inventories = st.lists(
    st.builds(
        lambda folder, name, kinds: file(f"{folder}/{name}.py", *kinds),
        st.sampled_from(["a", "b", "c"]),
        st.integers(0, 30),
        st.lists(st.sampled_from(["x", "y"]), max_size=5),
    ),
    unique_by=lambda one: one.path,
    max_size=30,
)


@given(inventories, st.integers(0, 8), st.integers(0, 3), st.sampled_from(["stratified", "random"]))
def test_as_many_as_asked_are_chosen_whatever_their_order(
    files: list[FileRecord], wanted: int, seed: int, pick: str
) -> None:
    given_sample = sample(files=wanted, seed=seed, pick=pick)
    chosen = choose_sample(files, given_sample)
    assert len(chosen) == min(wanted, len(files))
    assert set(chosen) <= {one.path for one in files}
    assert choose_sample(files[::-1], given_sample) == chosen


@given(st.integers(0, 10_000), st.integers(1, 50), st.floats(1, 10))
def test_waves_take_every_shard_and_never_shrink_before_the_last(shards: int, first: int, growth: float) -> None:
    sizes = plan_wave_sizes(shards, sample(first=first, growth=growth))
    assert sum(sizes) == shards
    assert all(size > 0 for size in sizes)
    assert all(one <= other for one, other in pairwise(sizes[:-1]))


def test_waves_grow() -> None:
    assert plan_wave_sizes(100, sample(first=4, growth=4)) == (4, 16, 64, 16)
    assert plan_wave_sizes(5, sample(first=2, growth=1)) == (2, 2, 1)
    assert plan_wave_sizes(0, sample()) == ()
