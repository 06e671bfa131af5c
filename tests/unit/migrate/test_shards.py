"""Dividing files into shards: a partition, within bounds, with pairs together, and stable."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.migration.files import FileRecord, Shard
from orchestrator.domain.recipe.shard import ShardRules
from orchestrator.migrate.sharding.shards import SAMPLE_SHARD, DivisionInputs, build_blocks, plan_shards

PAIR = "src/(.+)\\.py -> tests/test_\\1.py"


def file(path: str, sites: int = 1, owner: str = "") -> FileRecord:
    return FileRecord(path=path, base="b", mode="100644", sites=sites, owner=owner)


def names(shards: tuple[Shard, ...]) -> dict[str, tuple[str, ...]]:
    return {shard.name: shard.files for shard in shards}


def rules(**values: object) -> ShardRules:
    return ShardRules.model_validate(values)


def test_pairs_are_followed_from_file_to_file() -> None:
    paths = ["src/a.py", "tests/test_a.py", "tests/test_b.py", "docs/a.md", "src/alone.py"]
    pairs = [PAIR, "docs/(.+)\\.md -> src/\\1.py"]
    assert build_blocks(paths, pairs) == (
        ("docs/a.md", "src/a.py", "tests/test_a.py"),
        ("src/alone.py",),
        ("tests/test_b.py",),
    )


def test_names_tell_owner_and_directory_and_pieces_are_numbered() -> None:
    core = [file(f"core/db/{n}.py", owner="@acme/core @ann") for n in range(25)]
    web = [file(f"web/{n}.py", owner="@acme/web") for n in range(3)]
    top = [file(f"{n}.py") for n in range(3)]
    shards = plan_shards([*core, *web, *top], rules(max_files=20))
    assert {shard.name: (len(shard.files), shard.owner) for shard in shards} == {
        "root": (3, ""),
        "core/core/db": (13, "@acme/core @ann"),
        "core/core/db-2": (12, "@acme/core @ann"),
        "web/web": (3, "@acme/web"),
    }


def test_small_pieces_join_the_one_before_of_the_same_owner() -> None:
    files = [file("a/1.py", owner="@x"), file("b/1.py", owner="@y"), file("c/1.py", owner="@x"), file("d/1.py")]
    shards = plan_shards(files, rules(by=["directory"]))
    assert names(shards) == {"a": ("a/1.py", "c/1.py"), "b": ("b/1.py",), "d": ("d/1.py",)}
    alone = plan_shards(files, rules(by=["file"]))
    assert [shard.files for shard in alone] == [(f"{name}/1.py",) for name in "abcd"]


def test_lines_bound_a_shard_by_sites_or_by_what_is_known_to_change() -> None:
    files = [file(f"{n}.py", sites=40) for n in range(4)]
    assert len(plan_shards(files, rules(max_lines=100))) == 2
    assert len(plan_shards(files, rules(max_lines=100), DivisionInputs(changed_lines={"0.py": 90}))) == 3


@pytest.mark.parametrize(
    ("order", "first"),
    [("path", "a"), ("smallest-first", "b"), ("risk-first", "c"), ("leaves-first", "c")],
)
def test_shards_go_in_the_order_that_is_asked_for(order: str, first: str) -> None:
    files = [file("a/1.py", sites=2), file("b/1.py", sites=1), file("c/1.py", sites=3)]
    grounds = DivisionInputs(leaves_first=["c/1.py", "b/1.py", "a/1.py"])
    shards = plan_shards(files, rules(by=["directory"], min_files=1, order=order), grounds)
    assert shards[0].name == first


def test_clusters_and_a_commands_answer_divide() -> None:
    files = [file(f"{name}.py") for name in "abcd"]
    clusters = DivisionInputs(clusters={"a.py": "x", "c.py": "x", "b.py": "y"})
    divided = names(plan_shards(files, rules(by=["import-cluster"], min_files=1), clusters))
    assert divided == {"x": ("a.py", "c.py"), "y": ("b.py",), "d.py": ("d.py",)}
    nested = plan_shards(files, rules(by=["directory", "import-cluster"], min_files=1), clusters)
    assert [shard.name for shard in nested] == ["root", "root-2", "root-3"]
    commanded = DivisionInputs(commanded={"a.py": "Team One!", "b.py": "../x", "c.py": "sample"})
    divided = names(plan_shards(files, rules(by=["command"], run="x", min_files=1), commanded))
    assert divided == {"Team-One": ("a.py",), "x": ("b.py",), "sample-2": ("c.py",), "root": ("d.py",)}


def test_names_are_never_those_of_a_later_revision_of_another_shard() -> None:
    started = [Shard(name="core.r1", files=("core/0.py",))]
    shards = plan_shards(
        [file("core/1.py"), file("core.r2/1.py")], rules(by=["directory"], min_files=1), started=started
    )
    assert set(names(shards)) == {"core-2", "core-r2"}


files = st.lists(
    st.builds(
        lambda folder, stem, sites, owner: file(f"{folder}{stem}.py", sites, owner),
        st.sampled_from(["src/", "src/sub/", "tests/test_", "tests/test_sub/", "a/b/c/", ""]),
        st.sampled_from("abcdefgh"),
        st.integers(0, 50),
        st.sampled_from(["", "@core", "@web @ann"]),
    ),
    max_size=40,
    unique_by=lambda one: one.path,
)
rule_sets = st.builds(
    rules,
    by=st.lists(
        st.sampled_from(["file", "directory", "owner", "import-cluster"]), min_size=1, max_size=3, unique=True
    ).map(tuple),
    max_files=st.integers(1, 10),
    max_lines=st.integers(1, 200),
    min_files=st.integers(1, 4),
    depth=st.integers(1, 3),
    pair=st.sampled_from([(), (PAIR,)]),
    order=st.sampled_from(["path", "smallest-first", "risk-first", "leaves-first"]),
)


@given(files, rule_sets, st.data())
def test_every_file_is_in_exactly_one_shard_within_the_bounds(
    given_files: list[FileRecord], rule: ShardRules, data: st.DataObject
) -> None:
    by_path = {one.path: one for one in given_files}
    sample = data.draw(st.lists(st.sampled_from(sorted(by_path)), max_size=3)) if by_path else []
    shards = plan_shards(given_files, rule, sample=sample)
    assert sorted(path for shard in shards for path in shard.files) == sorted(by_path)
    assert len({shard.name for shard in shards}) == len(shards)
    of = {path: shard.name for shard in shards for path in shard.files}
    units = build_blocks(list(by_path), rule.pair)
    assert all(len({of[path] for path in unit}) == 1 for unit in units), "pairs are not divided"
    assert all(of[path] == SAMPLE_SHARD for path in sample)
    for shard in shards:
        lines = sum(max(1, by_path[path].sites) for path in shard.files)
        fits = len(shard.files) <= rule.max_files and lines <= rule.max_lines
        assert fits or shard.name == SAMPLE_SHARD or shard.files in {tuple(sorted(unit)) for unit in units}


@given(files, rule_sets, st.randoms(use_true_random=False))
def test_the_division_does_not_depend_on_the_order_of_the_files(
    given_files: list[FileRecord], rule: ShardRules, random: object
) -> None:
    mixed = [*given_files]
    random.shuffle(mixed)  # type: ignore[attr-defined]
    assert plan_shards(mixed, rule) == plan_shards(given_files, rule)


@given(files, rule_sets, st.data())
def test_started_shards_keep_their_files_when_there_are_more(
    given_files: list[FileRecord], rule: ShardRules, data: st.DataObject
) -> None:
    before = data.draw(st.lists(st.sampled_from(given_files), unique=True)) if given_files else []
    first = plan_shards(before, rule)
    started = [shard for shard in first if data.draw(st.booleans())]
    again = plan_shards(given_files, rule, started=started)
    kept = {path for shard in started for path in shard.files}
    assert sorted(path for shard in again for path in shard.files) == sorted(
        one.path for one in given_files if one.path not in kept
    )
    assert not {shard.name for shard in started} & {shard.name for shard in again}
