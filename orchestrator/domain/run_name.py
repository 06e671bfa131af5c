"""The name that a person gives a run: safe in the names of files and refs, and never mistaken for the id of a run."""

from orchestrator.domain.ids import LATEST_RUN, ROOT_TASK, parse_question_id
from orchestrator.domain.text.lazy_pattern import compile_lazily

_NAME = compile_lazily(r"[a-z](?:[a-z0-9._-]{0,38}[a-z0-9])\Z")
_SUFFIX = compile_lazily(r"[0-9a-f]{4}\Z")
_RESERVED = frozenset({LATEST_RUN, "all", ROOT_TASK})


def is_run_name(word: str) -> bool:
    """Return True if a run can have this name."""
    return not explain_bad_name(word)


def explain_bad_name(word: str) -> str:
    """Return why a run cannot have this name; empty if it can."""
    if word in _RESERVED or parse_question_id(word) is not None:
        return f"{word!r} means something else wherever a run is named"
    if _SUFFIX.match(word):
        return f"{word!r} could be the end of the id of another run"
    if _NAME.match(word) is None or ".." in word or word.endswith(".lock"):
        return (
            f"{word[:60]!r} is no name of a run: 2 to 40 small letters, digits, dots, hyphens and underscores, "
            "with a letter first, a letter or digit last, no two dots in a row and no .lock at the end"
        )
    return ""
