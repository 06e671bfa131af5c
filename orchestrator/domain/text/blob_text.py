"""Words of any length as they stand in events: short ones inline, long ones by reference to a blob."""

from orchestrator.domain.frozen_model import FrozenModel

INLINE_CHARS = 4_000


class Text(FrozenModel):
    """A text of `size` characters; `head` is all of it unless `sha` names the blob (UTF-8) that holds the rest."""

    head: str = ""
    size: int = 0
    sha: str | None = None

    @classmethod
    def build_inline(cls, text: str) -> "Text":
        """Return a text kept whole in the event; for words known to be short."""
        return cls(head=text, size=len(text))

    @property
    def is_whole(self) -> bool:
        """True if `head` is the whole text."""
        return self.sha is None
