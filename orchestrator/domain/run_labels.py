"""The labels of a run: those that it began with, and what people changed since."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orchestrator.domain.run.state import RunState

LABELS_TABLE, LABELS_KEY = "run", "labels"
"""Where labels stand in the settings of a run."""


def get_run_labels(state: "RunState") -> dict[str, str]:
    """Return the labels that a run has now."""
    return merge_labels(map(find_labels, (state.run.settings, *state.overrides)))


def find_labels(settings: Mapping[str, Any]) -> dict[str, str]:
    """Return the labels that settings hold."""
    labels: dict[str, str] = settings.get(LABELS_TABLE, {}).get(LABELS_KEY, {})
    return labels


def format_labels(labels: Mapping[str, str]) -> list[str]:
    """Return labels as they are typed: `team=web`."""
    return [f"{name}={value}" for name, value in labels.items()]


def merge_labels(changes: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return labels after changes, in order; an empty value takes a label away."""
    merged: dict[str, str] = {}
    for labels in changes:
        merged |= labels
    return {name: value for name, value in merged.items() if value}
