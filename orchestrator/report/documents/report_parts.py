"""Read the parts of a run's report that several documents show."""

from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.report.migration.full_report_model import MigrationReport

CRITERION_STATES = {True: "✓ met", False: "✗ not met", None: "· not judged"}
_LANDED = frozenset({"merged", "done"})


def has_task_landed(task: Mapping[str, Any]) -> bool:
    """Return True if a task is merged, or done with all below it."""
    return task["status"] in _LANDED


def list_pull_requests(report: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the pull requests of a migration's groups, or the one of the run."""
    groups: Sequence[Mapping[str, Any]] = report["prs"]
    if groups:
        return groups
    if report["pr"]:
        return [report["pr"]]
    return []


def list_forge_checks(report: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the forge's checks of the pull request; none where nobody waited for them."""
    checks: Sequence[Mapping[str, Any]] = ()
    if report["checks"]:
        checks = report["checks"]["checks"]
    return checks


def format_exit_codes(criterion: Mapping[str, Any]) -> str:
    """Return the exit codes of a criterion's command, `1 → 0`; empty where it has none."""
    if criterion["exit"] is None:
        return ""
    before = criterion["exit_on_base"]
    if before is None:
        before = "?"
    return f"{before} → {criterion['exit']}"


def read_migration(report: Mapping[str, Any]) -> MigrationReport | None:
    """Return the report of the run's migration; None for a run of a goal."""
    if report["migration"] is None:
        return None
    return MigrationReport.model_validate(report["migration"])
