"""The marks by which texts are found again: one for each run, group and kind, whatever they are called."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.forge.markers import MAX_TEXT_CHARS, add_marker, build_marker, build_run_marker, has_marker

NAMES = st.text(max_size=30)
MARKS = st.tuples(NAMES, st.sampled_from(["pr", "closed"]), NAMES)


@given(MARKS, st.text(max_size=200))
def test_a_marked_text_bears_its_mark_in_one_comment_that_nothing_in_a_name_can_end(
    parts: tuple[str, str, str], text: str
) -> None:
    own = build_marker(*parts)
    assert own.startswith("<!-- ")
    assert own.endswith(" -->")
    assert "--" not in own[4:-3]
    assert "\n" not in own
    assert has_marker(add_marker(text, own), own)
    assert has_marker(add_marker(text, own), build_run_marker(parts[0]))


@given(MARKS, MARKS)
def test_other_runs_groups_and_kinds_have_other_marks(one: tuple[str, str, str], other: tuple[str, str, str]) -> None:
    assert (build_marker(*one) == build_marker(*other)) == (one == other)
    assert has_marker(build_marker(*one), build_run_marker(other[0])) == (one[0] == other[0])


@given(st.integers(MAX_TEXT_CHARS - 200, MAX_TEXT_CHARS + 200))
def test_a_text_is_cut_only_if_it_is_too_long_and_then_says_so(length: int) -> None:
    own = build_marker("run", "pr")
    whole = add_marker("x" * length, own)
    assert len(whole) == min(MAX_TEXT_CHARS, len(own) + 1 + length)
    assert whole.endswith("x") == (len(own) + 1 + length <= MAX_TEXT_CHARS)
