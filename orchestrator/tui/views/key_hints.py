"""The keys that help where something stands: told on the last line while the cursor is on it."""

from collections.abc import Mapping, Sequence

from orchestrator.report.rows.activity import Activity

_HELPS: Mapping[Activity, Sequence[tuple[str, str]]] = {
    Activity.ASK: (("a", "approve"), ("d", "deny")),
    Activity.STALL: (("K", "stop the command"), ("x", "cancel")),
    Activity.FAIL: (("r", "retry"), ("o", "editor")),
    Activity.STOP: (("r", "retry"),),
}


def get_key_hints(doing: Activity | None) -> Sequence[tuple[str, str]]:
    """Return the keys for a thing that asks, stalls or failed; none for what goes its way."""
    if doing is not None:
        return _HELPS.get(doing, ())
    return ()
