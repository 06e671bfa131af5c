"""What of a recipe's work is asked for."""

import pytest

from orchestrator.domain.migration.files import FileRecord, Shard
from orchestrator.errors import UsageProblem
from orchestrator.migrate.scope.planning import WorkFilter
from tests.running.migrating import SED, recipe

OWNERS = {"src/a.py": "@core @web", "src/b.py": "@web", "tests/test_a.py": ""}
FILES = [FileRecord(path=path, base="0" * 40, mode="100644", owner=owner) for path, owner in OWNERS.items()]
SHARDS = [Shard(name="core", files=("src/a.py",)), Shard(name="rest", files=("src/b.py", "tests/test_a.py"))]


@pytest.mark.parametrize(
    ("wishes", "left_out"),
    [
        ((), set()),
        (("src/",), {"tests/test_a.py"}),
        (("src/**", "owner:nobody"), set()),
        (("owner:@core",), {"src/b.py", "tests/test_a.py"}),
        (("owner:core",), {"src/b.py", "tests/test_a.py"}),
        (("shard:core", "test_*.py"), {"src/b.py"}),
    ],
)
def test_what_is_not_asked_for_is_left_out_with_the_reason(wishes: tuple[str, ...], left_out: set[str]) -> None:
    moves = WorkFilter(wishes).build_skips(FILES, SHARDS)
    assert {move.path for move in moves} == left_out
    assert all(move.reason == f"not asked for: this run is only for {', '.join(wishes)}" for move in moves)


@pytest.mark.parametrize(
    ("wish", "hint"),
    [
        ("scr/**", "did you mean src"),
        ("owner:@wib", "did you mean @web?"),
        ("shard:cor", "did you mean core?"),
        ("shard:zzz", "there are core, rest"),
        ("docs/*", "is it in [scope]?"),
    ],
)
def test_a_wish_that_means_nothing_is_answered_with_what_comes_near(wish: str, hint: str) -> None:
    with pytest.raises(UsageProblem, match="means none of the 3 files") as refused:
        WorkFilter(("src/", wish)).build_skips(FILES, SHARDS)
    assert hint in str(refused.value)
    assert repr(wish) in str(refused.value)


@pytest.mark.parametrize("wish", ["!", "[z-a]"])
def test_a_wish_that_is_no_glob_is_refused(wish: str) -> None:
    with pytest.raises(UsageProblem, match="is no glob"):
        WorkFilter((wish,)).build_skips(FILES, SHARDS)


def test_a_sample_that_is_asked_for_takes_the_place_of_the_recipes_own() -> None:
    listed = recipe({"run": SED}, sample={"pick": "list", "paths": ["a.txt"], "min_pass": 0.5})
    asked = WorkFilter(sample=3).apply_sample(listed).sample
    assert (asked.files, asked.pick, asked.paths, asked.min_pass) == (3, "stratified", (), 0.5)
    assert WorkFilter().apply_sample(listed) == listed
