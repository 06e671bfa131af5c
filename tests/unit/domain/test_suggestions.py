"""Names that are suggested for a mistyped one."""

import pytest

from orchestrator.domain.text.suggestions import find_similar_names, suggest_names

TASKS = ("parser", "parser-tests", "printer", "storage/index")


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("parsr", "did you mean parser, parser-tests or printer?"),
        ("lib/index", "did you mean storage/index?"),
        ("qqqq", "there are 4"),
        ("", "there are 4"),
    ],
)
def test_a_mistyped_name_gets_the_names_that_are_like_it(wanted: str, words: str) -> None:
    assert suggest_names(wanted, TASKS, "there are 4") == words


def test_at_most_three_names_are_suggested() -> None:
    assert len(find_similar_names("a", ["ab", "ac", "ad", "ae"])) == 3
