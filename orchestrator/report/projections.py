"""Texts derived of a run for its readers; whoever appends its events keeps them with these.

Their renderers are loaded when one is needed first: an engine asks its first planner before that.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.domain.run.state import RunState
from orchestrator.report.projection_names import STATUS_PROJECTION, SUMMARY_PROJECTION

if TYPE_CHECKING:
    from orchestrator.report.run.status_projection import StatusProjection


def build_projections(journal: Path) -> dict[str, Callable[[RunState], str]]:
    """Return by name what renders each projection of a run, given the path of its journal."""
    return {STATUS_PROJECTION: _StatusRenderer(journal).render_json, SUMMARY_PROJECTION: _render_summary}


class _StatusRenderer:
    def __init__(self, journal: Path) -> None:
        self._journal = journal
        self._projection: StatusProjection | None = None

    def render_json(self, state: RunState) -> str:
        from orchestrator.report.run.status_projection import StatusProjection

        self._projection = self._projection or StatusProjection(self._journal)
        return self._projection.render_json(state)


def _render_summary(state: RunState) -> str:
    from orchestrator.report.runs.summary import render_summary_json

    return render_summary_json(state)
