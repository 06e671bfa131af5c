"""What a model is shown of a file: in the recipe's order, no more than there is room for; the rest is named."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.recipe.step import ModelStep
from orchestrator.llm.budget import CHARS_PER_TOKEN
from orchestrator.migrate.models.context import ContextEntry, fit_pieces, get_token_budget, parse_context_entries
from orchestrator.ports.roles import ContextPiece

TEXTS = st.lists(st.text(alphabet="ab \n", max_size=400), max_size=6)


def pieces(texts: list[str]) -> list[ContextPiece]:
    return [ContextPiece(label="x", title=f"piece {number}:", text=text) for number, text in enumerate(texts)]


@given(TEXTS, st.integers(1, 300))
def test_what_is_shown_fits_is_a_beginning_of_what_there_is_and_the_rest_is_named(
    texts: list[str], tokens: int
) -> None:
    shown, left_out = fit_pieces(pieces(texts), tokens)
    assert sum(len(piece.text) for piece in shown) <= tokens * CHARS_PER_TOKEN
    assert len(shown) + len(left_out) == len(texts)
    whole = {piece.title: piece.text for piece in pieces(texts)}
    for piece in shown:
        kept, cut, told = piece.text.partition("[cut here: ")
        assert whole[piece.title].startswith(kept)
        assert (kept == whole[piece.title]) == (not cut)
        if cut:
            assert kept.endswith("\n")
            assert told == f"{kept.count(chr(10))} of {whole[piece.title].count(chr(10)) + 1} lines are shown]"


@given(TEXTS, st.integers(1, 300))
def test_more_room_never_shows_less(texts: list[str], tokens: int) -> None:
    few, _ = fit_pieces(pieces(texts), tokens)
    more, _ = fit_pieces(pieces(texts), tokens + 50)
    assert {piece.title for piece in few if piece.text} <= {piece.title for piece in more}


def test_each_attempt_has_its_own_size_and_the_last_one_holds_for_the_rest() -> None:
    step = ModelStep.model_validate({"id": "s", "kind": "llm", "context_tokens": [10, 40]})
    assert [get_token_budget(step, attempt) for attempt in (1, 2, 3, 9)] == [10, 40, 40, 40]


def test_items_of_the_context_may_say_of_how_many_files() -> None:
    assert parse_context_entries(["{file}", "{examples:3}"]) == [ContextEntry("file", 1), ContextEntry("examples", 3)]
