"""A change as rows: no line is lost or made up, however they are laid out, and each knows where it stands."""

import difflib
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.tui.rows.diff_rows import DiffOptions, DiffRow, DiffRows
from worktrees.diffs.file_diffs import FileDiff
from worktrees.diffs.hunks import parse_hunks

LINES = st.lists(st.sampled_from(["a", "b", " b", "c\t", "\x1b[31mred", "é"]), max_size=12)


def changed(path: str, old: list[str], new: list[str]) -> FileDiff:
    patch = "\n".join(difflib.unified_diff(old, new, lineterm=""))
    hunks = parse_hunks(patch) if old != new else ()
    kinds = [line.kind for hunk in hunks for line in hunk.lines]
    return FileDiff(path, None, "modified", kinds.count("+"), kinds.count("-"), False, "100644", "100644", hunks)


def rows_of(rows: DiffRows) -> list[DiffRow]:
    return [rows.get_row(index) for index in range(len(rows))]


def sides(rows: DiffRows) -> tuple[list[str], list[str]]:
    """The removed and the added lines, in order."""
    lines = [row for row in rows_of(rows) if row.kind == "line"]
    gone = [row.old.text for row in lines if row.old and row.old.kind == "-"]
    came = [row.new.text for row in lines if row.new and row.new.kind == "+"]
    return gone, came


@given(old=LINES, new=LINES, is_wide=st.booleans())
def test_both_layouts_show_each_line_once(old: list[str], new: list[str], is_wide: bool) -> None:
    file = changed("f", old, new)
    lines = [line for hunk in file.hunks for line in hunk.lines]
    expected = [line.text for line in lines if line.kind == "-"], [line.text for line in lines if line.kind == "+"]
    assert sides(DiffRows([file], DiffOptions(is_wide=is_wide))) == expected


@given(old=LINES, new=LINES)
def test_without_white_space_no_other_change_is_hidden(old: list[str], new: list[str]) -> None:
    file = changed("f", old, new)
    gone, came = sides(DiffRows([file], DiffOptions(ignores_space=True)))
    all_gone, all_came = sides(DiffRows([file]))
    assert _without_space(all_gone) - _without_space(gone) == _without_space(all_came) - _without_space(came)


def _without_space(lines: list[str]) -> Counter[str]:
    return Counter("".join(line.split()) for line in lines)


def test_a_line_that_was_only_indented_is_no_change() -> None:
    file = changed("f", ["if x:", "a", "b"], ["if x:", "    a", "c"])
    rows = DiffRows([file], DiffOptions(ignores_space=True))
    assert sides(rows) == (["a", "b"], ["    a", "c"])  # in one piece with a change that is more than that
    assert len(DiffRows([changed("f", ["a", "b"], ["a", "  b"])], DiffOptions(ignores_space=True))) == 1


@given(old=LINES, new=LINES, is_wide=st.booleans(), width=st.integers(20, 200))
def test_no_row_can_steer_a_terminal_and_side_by_side_fits_the_left_half(
    old: list[str], new: list[str], is_wide: bool, width: int
) -> None:
    rows = DiffRows([changed("f\x1b[2J", old, new)], DiffOptions(is_wide=is_wide))
    for index in range(len(rows)):
        text = "".join(part for part, _ in rows.render_row(index, width))
        assert "\x1b" not in text
        if is_wide and rows.get_row(index).kind == "line":
            assert " | " in text


def test_heads_are_gone_to_one_after_the_other_and_back() -> None:
    one = changed("one", ["a"] * 10 + ["x"] + ["a"] * 10 + ["y"], ["a"] * 10 + ["X"] + ["a"] * 10 + ["Y"])
    rows = DiffRows([one, changed("two", ["b"], ["B"])])
    hunks = [index for index, row in enumerate(rows_of(rows)) if row.kind == "hunk"]
    assert len(hunks) == 3
    assert [rows.find_next_head("hunk", 0, 1), rows.find_next_head("hunk", hunks[0], 1)] == hunks[:2]
    assert rows.find_next_head("hunk", hunks[2], -1) == hunks[1]
    assert rows.find_next_head("hunk", hunks[2], 1) == hunks[2]
    assert rows.get_row(rows.find_next_head("file", 0, 1)).path == "two"
    assert rows.find_file_row("two") == rows.find_next_head("file", 0, 1)


@pytest.mark.parametrize("how", [DiffOptions(is_wide=True), DiffOptions(ignores_space=True)])
def test_another_layout_keeps_the_line_that_is_looked_at(how: DiffOptions) -> None:
    file = changed("one", ["a", "b", "c", "d"], ["a", "B", "c", "D"])
    plain, other = DiffRows([file]), DiffRows([file], how)
    row = next(row for row in rows_of(plain) if row.new and row.new.text == "D")
    assert other.get_row(other.find_nearest_row(row)).number == row.number == 4


def test_what_has_no_lines_says_why() -> None:
    files = [
        FileDiff("bin", None, "modified", 0, 0, True, "100644", "100644"),
        FileDiff("new name", "old name", "renamed", 0, 0, False, "100644", "100755"),
        FileDiff("huge", None, "modified", 9_000, 1_000, False, "100644", "100644", is_opaque=True),
        FileDiff("later", None, "modified", 20_000, 5_000, False, "100644", "100644"),
    ]
    texts = [row.text.strip() for row in rows_of(DiffRows(files, unloaded={"later"}))]
    assert texts == [
        "bin  modified  +0 -0",
        "a binary file",
        "old name -> new name  renamed  +0 -0",
        "mode 100644 -> 100755",
        "huge  modified  +9000 -1000",
        "too large to be shown: orchestrate diff prints it",
        "later  modified  +20000 -5000",
        "25,000 lines: enter shows them",
    ]
