"""Which changes count as reached, given the lines that ran."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.migrate.judging.invariants import ChangedRegion
from orchestrator.migrate.judging.review_flags import is_reached

SOURCE = b'''"""Words."""

import os


@property
def f(a,
      b=1):
    """More
    words."""
    x = call(
        a,
        b,
    )
    return x  # a comment
'''


def changed(line: int, count: int = 1) -> list[ChangedRegion]:
    return [ChangedRegion(line, count, line, count)]


def test_a_changed_line_in_the_middle_of_a_statement_is_reached_with_it() -> None:
    assert is_reached(SOURCE, changed(12), {11})
    assert not is_reached(SOURCE, changed(12), {3, 6, 7})


def test_the_head_of_a_function_is_reached_when_it_is_defined_and_its_body_when_it_runs() -> None:
    assert is_reached(SOURCE, changed(8), {6, 7})
    assert not is_reached(SOURCE, changed(15), {3, 6, 7})
    assert is_reached(SOURCE, changed(15), {3, 15})


def test_words_are_reached_with_anything_of_the_file_and_so_is_what_was_taken_out() -> None:
    assert is_reached(SOURCE, changed(9), {3})
    assert not is_reached(SOURCE, changed(9), set())
    assert is_reached(SOURCE, [ChangedRegion(4, 1, 4, 0)], {3})


@given(st.integers(1, 15), st.sets(st.integers(1, 15)))
def test_where_every_line_ran_everything_is_reached_and_where_none_did_nothing_is(line: int, ran: set[int]) -> None:
    assert is_reached(SOURCE, changed(line), set(range(1, 16)))
    assert not is_reached(SOURCE, changed(line), set())
    assert not is_reached(SOURCE, changed(line), ran) or is_reached(SOURCE, changed(line), ran | {1})
