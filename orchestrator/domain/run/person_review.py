"""The words of a person about a change that waited to land: a note, and comments on its lines."""

from orchestrator.domain.frozen_model import FrozenModel


class ReviewComment(FrozenModel):
    """A comment on a line, counted from 1 after the change. `line_text` is the line itself, where it exists."""

    path: str
    line: int
    text: str
    line_text: str = ""


class PersonReview(FrozenModel):
    """The words that came with an answer. `is_rejection`: the change was rejected, else it was sent back."""

    by: str
    note: str = ""
    comments: tuple[ReviewComment, ...] = ()
    is_rejection: bool = False
