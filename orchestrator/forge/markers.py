"""The marks by which Orchestrate finds again what it wrote on a forge, and how much text fits there."""

from urllib.parse import quote

MAX_TEXT_CHARS = 65_536
"""Characters that a pull request or a comment may have on GitHub."""
_CUT = "\n\n*Cut here, because a forge takes no more; `orchestrate report` has all of it.*"


def build_marker(run: str, kind: str, group: str = "") -> str:
    """A comment that nobody sees, as the first line of a text. `kind` says what the text is, `group` of which part."""
    return f"{build_run_marker(run)}{_plain(group)};kind={kind} -->"


def build_run_marker(run: str) -> str:
    """What all marks of a run begin with."""
    return f"<!-- orchestrate:run={_plain(run)};group="


def add_marker(text: str, own: str) -> str:
    """The text under its mark, cut with a word if it is too long."""
    whole = f"{own}\n{text}"
    if len(whole) <= MAX_TEXT_CHARS:
        return whole
    return whole[: MAX_TEXT_CHARS - len(_CUT)] + _CUT


def has_marker(text: str | None, own: str) -> bool:
    """Whether a text begins with this mark: what stands further down may be anybody's words."""
    return (text or "").lstrip().startswith(own)


def _plain(name: str) -> str:
    """A name that can neither end the mark nor the comment."""
    return quote(name, safe="@/").replace("--", "-%2D")
