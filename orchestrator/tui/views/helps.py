"""The keys that help where something stands: told on the last line while the cursor is on it."""

from collections.abc import Mapping, Sequence

from orchestrator.report.glyphs import Doing

_HELPS: Mapping[Doing, Sequence[tuple[str, str]]] = {
    Doing.ASK: (("a", "approve"), ("d", "deny")),
    Doing.STALL: (("K", "stop the command"), ("x", "cancel")),
    Doing.FAIL: (("r", "retry"), ("o", "editor")),
    Doing.STOP: (("r", "retry"),),
}


def helps(doing: Doing | None) -> Sequence[tuple[str, str]]:
    """What one would do about a thing that asks, stalls or failed; nothing about what goes its way."""
    return _HELPS.get(doing, ()) if doing is not None else ()
