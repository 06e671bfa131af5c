"""The marks by which Orchestrate finds again what it wrote on a forge, and how much text fits there."""

from urllib.parse import quote

MAX_TEXT_CHARS = 65_536
"""Characters that a pull request or a comment may have on GitHub."""
_CUT = "\n\n*Cut here, because a forge takes no more; `orchestrate report` has all of it.*"


def build_marker(run: str, kind: str, group: str = "") -> str:
    """Return a hidden comment, the first line of a text: `kind` says what the text is, `group` of which part."""
    return f"{build_run_marker(run)}{_escape_name(group)};kind={kind} -->"


def build_run_marker(run: str) -> str:
    """Return the beginning of all marks of a run."""
    return f"<!-- orchestrate:run={_escape_name(run)};group="


def add_marker(text: str, own: str) -> str:
    """Return the text under its mark, cut if it is too long; a cut text says so."""
    whole = f"{own}\n{text}"
    return whole if len(whole) <= MAX_TEXT_CHARS else whole[: MAX_TEXT_CHARS - len(_CUT)] + _CUT


def has_marker(text: str | None, own: str) -> bool:
    """Return True if a text begins with this mark: what stands further down may be anybody's words."""
    return (text or "").lstrip().startswith(own)


def is_same_text(written: str | None, text: str) -> bool:
    """Return True if a forge holds this text; it may have changed the ends of lines."""
    return (written or "").replace("\r\n", "\n").strip() == text.strip()


def _escape_name(name: str) -> str:
    """Return a name that can end neither the mark nor the comment."""
    return quote(name, safe="@/").replace("--", "-%2D")
