"""Differences of trees: exact paths, modes and counts; hunks that reproduce the new text; nothing crashes it."""

from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.unit.worktrees.conftest import Project
from worktrees.diffs import file_diffs as diff_module
from worktrees.diffs.file_diffs import Diff, FileDiff, diff_blobs, diff_trees, read_diff_stat, read_diff_text
from worktrees.diffs.hunks import Hunk, HunkLine, parse_hunks
from worktrees.errors import GitError
from worktrees.git import Git
from worktrees.object_store.tree_overlay import overlay_tree
from worktrees.object_store.trees import write_blob, write_empty_tree
from worktrees.repositories.repository import GitRepository

Content = bytes | tuple[str, bytes] | None
LONG = "".join(f"line {number}\n" for number in range(40)).encode()


@pytest.fixture
def git(repository: GitRepository) -> Git:
    return repository.git


async def tree(git: Git, files: Mapping[str, Content]) -> str:
    """A tree of files; a content may come with its mode, or as a submodule's mode and commit."""
    changes = {}
    for path, given_content in files.items():
        if given_content is None:
            continue
        mode, data = given_content if isinstance(given_content, tuple) else ("100644", given_content)
        changes[path] = (mode, data.decode() if mode == "160000" else await write_blob(git, data))
    return await overlay_tree(git, await write_empty_tree(git), changes)


async def change(git: Git, old: Mapping[str, Content], new: Mapping[str, Content]) -> Diff:
    return await diff_trees(git, await tree(git, old), await tree(git, new))


def brief(file: FileDiff) -> tuple[object, ...]:
    return (file.path, file.old_path, file.status, file.added, file.removed, file.old_mode, file.new_mode)


async def test_a_first_look_has_no_hunks_and_a_second_one_those_of_some_paths(git: Git) -> None:
    old = await tree(git, {"a": b"1\n", "b": b"1\n", "old": LONG})
    new = await tree(git, {"a": b"2\n", "b": b"2\n", "new": LONG + b"more\n"})
    first = await diff_trees(git, old, new, has_hunks=False)
    assert [(file.path, file.added, file.hunks) for file in first.files] == [("a", 1, ()), ("b", 1, ()), ("new", 1, ())]
    second = await diff_trees(git, old, new, ("new", "old"))
    assert [(file.path, file.status, len(file.hunks)) for file in second.files] == [("new", "renamed", 1)]


async def test_every_kind_of_change_is_told_with_modes_and_counts(project: Project, git: Git) -> None:
    commit = project.git("rev-parse", "HEAD").encode()
    old: dict[str, Content] = {
        "changed": b"1\n2\n3\n",
        "gone": b"x\n",
        "mode": b"x\n",
        "old name": LONG,
        "type": b"x\ny\n",
        "sub": ("160000", commit),
        "same": b"x",
    }
    new: dict[str, Content] = {
        "changed": b"1\nII\n3\n4\n",
        "mode": ("100755", b"x\n"),
        "new": b"a\nb\n",
        "dir/new name": LONG + b"more\n",
        "type": ("120000", b"target"),
        "same": b"x",
    }

    told = await change(git, old, new)

    plain = "100644"
    assert [brief(file) for file in told.files] == [
        ("changed", None, "modified", 2, 1, plain, plain),
        ("dir/new name", "old name", "renamed", 1, 0, plain, plain),
        ("gone", None, "deleted", 0, 1, plain, None),
        ("mode", None, "modified", 0, 0, plain, "100755"),
        ("new", None, "added", 2, 0, None, plain),
        ("sub", None, "deleted", 0, 1, "160000", None),
        ("type", None, "type-changed", 1, 2, plain, "120000"),
    ]
    assert (told.added, told.removed) == (6, 5)
    assert told.paths == ("changed", "dir/new name", "gone", "mode", "new", "old name", "sub", "type")
    assert {file.path for file in told.files if not file.hunks} == {"mode"}


async def test_equal_trees_differ_in_nothing(git: Git) -> None:
    assert await diff_trees(git, "HEAD", "HEAD") == Diff(())
    assert await read_diff_text(git, "HEAD", "HEAD") == ""
    assert await read_diff_stat(git, "HEAD", "HEAD") == ""


async def test_hunks_hold_lines_with_their_numbers(git: Git) -> None:
    told = await change(git, {"f.py": b"def f():\n" + LONG}, {"f.py": b"def f():\n" + LONG.replace(b"line 20", b"new")})

    assert told.files[0].hunks == (
        Hunk(
            old_start=19,
            old_length=7,
            new_start=19,
            new_length=7,
            section="line 16",
            lines=(
                HunkLine(" ", 19, 19, "line 17"),
                HunkLine(" ", 20, 20, "line 18"),
                HunkLine(" ", 21, 21, "line 19"),
                HunkLine("-", 22, None, "line 20"),
                HunkLine("+", None, 22, "new"),
                HunkLine(" ", 23, 23, "line 21"),
                HunkLine(" ", 24, 24, "line 22"),
                HunkLine(" ", 25, 25, "line 23"),
            ),
        ),
    )


async def test_a_missing_last_newline_is_marked_on_the_line_itself(git: Git) -> None:
    told = await change(git, {"a": b"x", "b": b"x\n", "c": b"x"}, {"a": b"x\n", "b": b"x", "c": b"y"})

    assert [
        [(line.kind, line.text, line.ends_with_newline) for line in file.hunks[0].lines] for file in told.files
    ] == [
        [("-", "x", False), ("+", "x", True)],
        [("-", "x", True), ("+", "x", False)],
        [("-", "x", False), ("+", "y", False)],
    ]


ODD_LINES = (
    *(b"-- a/file", b"++ b/file", b"diff --git a/x b/x", b"@@ -1,3 +1,3 @@", b"\\ No newline at end of file"),
    *(b"Binary files a/x and b/x differ", b"index 0000000..1111111 100644", b"new file mode 100644", b"rename to x"),
    *(b"form\x0cfeed", b"carriage\rreturn", b"dos\r", b"\x0b\x1c\x85", "line\u2028separator".encode(), b"\xff\xfe"),
    *(b"", b" ", b"\t", b"-", b"+", b"\\"),
)


async def test_lines_that_look_like_a_patch_or_hold_odd_separators_are_only_lines(git: Git) -> None:
    told = await change(
        git,
        {f"{number:02}": b"one\n" + line + b"\ntwo\n" for number, line in enumerate(ODD_LINES)},
        {f"{number:02}": b"one\ntwo\n" + line + b" \nthree\n" for number, line in enumerate(ODD_LINES)},
    )

    assert len(told.files) == len(ODD_LINES)
    for file, line in zip(told.files, ODD_LINES, strict=True):
        expected = line.decode("utf-8", "replace")
        found = {(found.text, found.kind) for hunk in file.hunks for found in hunk.lines}
        assert not file.is_opaque
        assert found >= {(expected, "-"), (f"{expected} ", "+")}


async def test_odd_names_are_exact(git: Git) -> None:
    names = [
        'quo"te',
        "new\nline",
        "tab\there",
        "näme",
        "caf\udce9",
        "a b",
        " lead",
        "b/a/ b/x",
        "x => y",
        "\\",
        "dev/null",
    ]
    own = {name: b"".join(b"%d of %d\n" % (line, number) for line in range(20)) for number, name in enumerate(names)}
    old = dict.fromkeys(names, b"1\n") | {f"r/{name}": text for name, text in own.items()}
    new = dict.fromkeys(names, b"2\n") | {f"r/{name}.moved": text + b"x\n" for name, text in own.items()}

    told = await change(git, old, new)

    assert {(file.path, file.old_path, len(file.hunks)) for file in told.files} == {
        *((name, None, 1) for name in names),
        *((f"r/{name}.moved", f"r/{name}", 1) for name in names),
    }


async def test_binary_files_have_neither_counts_nor_hunks(git: Git) -> None:
    told = await change(git, {"b": b"\0\1", "t": b"x\n"}, {"b": b"\0\2\n", "t": b"\0"})

    assert [(file.path, file.is_binary, file.added, file.removed, file.hunks) for file in told.files] == [
        ("b", True, 0, 0, ()),
        ("t", True, 0, 0, ()),
    ]


async def test_a_huge_change_has_exact_counts_but_no_hunks_and_spoils_no_other(git: Git) -> None:
    huge = b"".join(b"%d %s\n" % (number, b"x" * 90) for number in range(30_000))
    one_line = b"x" * 3_000_000

    told = await change(git, {"a": b"1\n", "z": b"1\n"}, {"a": b"2\n", "huge": huge, "one": one_line, "z": b"2\n"})

    assert [(file.path, file.added, file.is_opaque, len(file.hunks)) for file in told.files] == [
        ("a", 1, False, 1),
        ("huge", 30_000, True, 0),
        ("one", 1, True, 0),
        ("z", 1, False, 1),
    ]


async def test_a_patch_longer_than_all_bounds_leaves_the_rest_without_hunks(
    git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("worktrees.diffs.file_diffs._PATCH_BYTES", 5000)

    told = await change(git, {}, {"a": b"x\n", "b": b"y" * 6000, "c": b"z\n"})

    assert [(file.path, file.added, file.is_opaque, len(file.hunks)) for file in told.files] == [
        ("a", 1, False, 1),
        ("b", 1, True, 0),
        ("c", 1, True, 0),
    ]


async def test_the_users_diff_settings_change_nothing(project: Project, git: Git) -> None:
    old, new = {"a": LONG, "b": b"x \n"}, {"c": LONG + b"1\n", "b": b"x\n"}
    plain = await change(git, old, new)
    text = await read_diff_text(git, await tree(git, old), await tree(git, new))
    for key, value in {
        "diff.noprefix": "true",
        "diff.mnemonicPrefix": "true",
        "diff.renames": "false",
        "diff.context": "0",
        "diff.interHunkContext": "9",
        "diff.algorithm": "histogram",
        "color.ui": "always",
        "core.quotePath": "true",
        "diff.wsErrorHighlight": "all",
        "diff.orderFile": "/nonexistent",
    }.items():
        project.git("config", key, value)

    assert await change(git, old, new) == plain
    assert await read_diff_text(git, await tree(git, old), await tree(git, new)) == text


async def test_the_text_can_be_limited_to_paths_and_to_a_context(git: Git) -> None:
    old = await tree(git, {"a/x": LONG, "b": b"1\n", ":(glob)*": b"1\n"})
    new = await tree(git, {"a/x": LONG.replace(b"line 9\n", b"nine\n"), "b": b"2\n", ":(glob)*": b"2\n"})

    assert (await read_diff_text(git, old, new, ["a"], context=1)).splitlines()[2:] == [
        *("--- a/a/x", "+++ b/a/x", "@@ -9,3 +9,3 @@ line 7", " line 8", "-line 9", "+nine", " line 10"),
    ]
    assert (await read_diff_text(git, old, new, [":(glob)*"])).count("diff --git") == 1
    assert (await read_diff_text(git, old, new)).count("diff --git") == 3


async def test_text_that_is_not_utf8_is_replaced_so_that_it_can_be_stored(git: Git) -> None:
    old, new = await tree(git, {"f": b"\xff\n", "caf\udce9": b"1\n"}), await tree(git, {"f": b"\xfe\n"})

    assert "\ufffd" in (await read_diff_text(git, old, new)).encode("utf-8").decode("utf-8")
    assert (await read_diff_stat(git, old, new)).encode("utf-8")
    assert all(
        line.text.encode("utf-8") for file in (await diff_trees(git, old, new)).files for line in file.hunks[0].lines
    )


async def test_the_summary_has_a_line_for_each_file(git: Git) -> None:
    old, new = await tree(git, {"a": b"1\n", "b": b"1\n"}), await tree(git, {"a": b"2\n"})

    assert (await read_diff_stat(git, old, new)).splitlines() == [
        *(" a | 2 +-", " b | 1 -", " 2 files changed, 1 insertion(+), 2 deletions(-)"),
    ]


async def test_what_does_not_exist_is_an_error(git: Git) -> None:
    with pytest.raises(GitError):
        await diff_trees(git, "HEAD", "0" * 39 + "1")


def test_what_are_no_hunks_is_refused_and_no_hunks_are_none() -> None:
    assert parse_hunks("") == parse_hunks("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n") == ()
    with pytest.raises(ValueError, match="not a unified diff"):
        parse_hunks("@@ -1,2 +1,2 @@\n-only one line\n")


def applied(old: str, hunks: tuple[Hunk, ...]) -> str:
    """The new text that hunks make of an old one."""
    lines = old.split("\n")
    ends = [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    made: list[str] = []
    position = 0
    for hunk in hunks:
        start = hunk.old_start - (1 if hunk.old_length else 0)
        made += ends[position:start]
        made += [line.text + "\n" * line.ends_with_newline for line in hunk.lines if line.kind != "-"]
        assert ends[start : start + hunk.old_length] == [
            line.text + "\n" * line.ends_with_newline for line in hunk.lines if line.kind != "+"
        ]
        position = start + hunk.old_length
    return "".join(made + ends[position:])


TEXTS = st.lists(
    st.sampled_from(["a", "b", "c\r", "\x0c", "-- x", "++", "@@ -1 +1 @@", "\\ No", "", "ü\u2028"]), max_size=25
)


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs=st.lists(st.tuples(TEXTS.map("\n".join), TEXTS.map("\n".join)), min_size=1, max_size=8))
async def test_hunks_applied_to_the_old_text_give_the_new_one(git: Git, pairs: list[tuple[str, str]]) -> None:
    old = {f"f{number}": before for number, (before, _) in enumerate(pairs)}
    new = {f"f{number}": after for number, (_, after) in enumerate(pairs)}

    told = await change(
        git, {path: text.encode() for path, text in old.items()}, {path: text.encode() for path, text in new.items()}
    )

    hunks = {file.path: file.hunks for file in told.files}
    assert {path: applied(text, hunks.get(path, ())) for path, text in old.items()} == new
    lines = [line.kind for file in told.files for hunk in file.hunks for line in hunk.lines]
    assert (told.added, told.removed) == (lines.count("+"), lines.count("-"))


async def blobs(git: Git, *pairs: tuple[bytes, bytes]) -> list[tuple[str, str]]:
    return [(await write_blob(git, old), await write_blob(git, new)) for old, new in pairs]


async def test_many_pairs_of_blobs_are_compared_in_one_go_each_by_itself(git: Git) -> None:
    pairs = await blobs(
        git,
        (LONG, LONG.replace(b"line 7\n", b"l\nl\n")),
        (b"x", b"x"),
        (b"\0a\n", b"\0b\n"),
        (b"", LONG),
        (LONG, LONG + b"1"),
    )

    found = await diff_blobs(git, pairs)

    spans = [[(h.old_start, h.old_length, h.new_start, h.new_length) for h in hunks or ()] for hunks in found]
    assert spans == [[(8, 1, 8, 2)], [], [(1, 1, 1, 1)], [(0, 0, 1, 40)], [(40, 0, 41, 1)]]
    assert await diff_blobs(git, []) == []


async def test_of_pairs_of_blobs_only_that_whose_own_patch_is_too_large_is_not_told(
    git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diff_module, "_PATCH_BYTES", 1000)
    small, large = (b"a\n", b"b\n"), (b"", LONG * 10)

    found = await diff_blobs(git, await blobs(git, small, small, large, small))

    assert [hunks is None for hunks in found] == [False, False, True, False]
    assert all(len(hunks) == 1 for hunks in found if hunks is not None)


async def test_a_pair_with_a_blob_that_does_not_exist_is_an_error(git: Git) -> None:
    with pytest.raises(GitError):
        await diff_blobs(git, [("0" * 39 + "1", "0" * 39 + "2")])
