"""The two kinds of checks of GitHub on a commit, as one list."""

from collections.abc import Iterable

from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.forge.github.responses import CheckRun, CommitStatus
from orchestrator.ports.forge import ForgeCheck

_SHOWN = 500
_PASSED = frozenset({"success", "neutral", "skipped"})
_UNDECIDED = frozenset({None, "action_required", "cancelled", "stale", "startup_failure"})
"""Somebody has to press a button before it begins, or it was cut off and has to be run again: it says nothing of the
commit.
"""


def merge_checks(runs: Iterable[CheckRun], statuses: Iterable[CommitStatus]) -> tuple[ForgeCheck, ...]:
    """Check runs of apps and statuses that others set, each by its name; words are stripped to one line."""
    return (*map(_convert_run, runs), *map(_convert_status, statuses))


def _convert_run(run: CheckRun) -> ForgeCheck:
    words = (run.conclusion or run.status, run.output.title, run.output.summary)
    return ForgeCheck(
        name=to_one_line(run.name, _SHOWN),
        state=_state(run),
        summary=to_one_line(": ".join(filter(None, words)), _SHOWN),
        url=to_one_line(run.html_url or run.details_url or ""),
    )


def _state(run: CheckRun) -> str:
    if run.status != "completed" or run.conclusion in _UNDECIDED:
        return "pending"
    if run.conclusion in _PASSED:
        return "passed"
    return "failed"


def _convert_status(status: CommitStatus) -> ForgeCheck:
    return ForgeCheck(
        name=to_one_line(status.context, _SHOWN),
        state="pending" if status.state == "pending" else "passed" if status.state == "success" else "failed",
        summary=to_one_line(": ".join(filter(None, (status.state, status.description))), _SHOWN),
        url=to_one_line(status.target_url or ""),
    )
