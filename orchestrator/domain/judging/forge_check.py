"""Checks of a forge on a commit, and their meaning together. Pure."""

from collections.abc import Iterable, Sequence
from typing import Literal

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.text.sanitization import strip_controls, to_one_line

MAX_CHECKS = 200
"""Checks of one commit that are kept."""
_NAME_CHARS = 200
_SUMMARY_CHARS = 1_000
_MAX_DESCRIBED = 20
"""Failed checks of which more than the name is told to models."""
_URL_CHARS = 500
_ORDER = ("failed", "pending", "passed")

ChecksOutcome = Literal["waits", "passed", "failed", "none", "late"]
"""The meaning of a commit's checks together: not yet known; green; red; there are none; not known in time."""


class ForgeCheck(FrozenModel):
    """A check that the forge ran, or runs, on a commit; `summary` is what it says of itself, `url` where to read on."""

    name: str
    state: Literal["pending", "passed", "failed"]
    summary: str = ""
    url: str = ""


def limit_checks(checks: Iterable[ForgeCheck]) -> tuple[ForgeCheck, ...]:
    """Return the checks in one order, of bounded size, without control characters.

    Of very many those go that passed, so that what is left never means more than all of them.
    """
    ordered = sorted(checks, key=lambda check: (_ORDER.index(check.state), check.name, check.url))
    return tuple(map(_limit_check, ordered[:MAX_CHECKS]))


def _limit_check(check: ForgeCheck) -> ForgeCheck:
    return ForgeCheck(
        name=to_one_line(check.name, _NAME_CHARS) or "?",
        state=check.state,
        summary=strip_controls(check.summary)[:_SUMMARY_CHARS],
        url=to_one_line(check.url, _URL_CHARS),
    )


def compute_checks_outcome(
    checks: Sequence[ForgeCheck], waited_s: float, *, longest_s: float, grace_s: float, is_steady: bool
) -> ChecksOutcome:
    """Return the meaning of checks together.

    Nothing is decided while one is pending, so that all red ones are known at once.

    Args:
        checks: of one commit, as they were seen last.
        waited_s: seconds since they were looked for first.
        longest_s: how long they are waited for.
        grace_s: how long a forge may take to begin the first of them.
        is_steady: whether the look before this one saw the same: a forge begins some when others have passed.
    """
    is_over = waited_s >= longest_s
    states = {check.state for check in checks}
    if not states:
        return "none" if is_over or waited_s >= grace_s else "waits"
    if "pending" not in states and "failed" in states:
        return "failed"
    if states == {"passed"} and (is_steady or is_over):
        return "passed"
    if not is_over:
        return "waits"
    if "failed" in states:
        return "failed"
    return "late"


def list_check_names(checks: Iterable[ForgeCheck], state: str) -> tuple[str, ...]:
    """Return the names of the checks in a state."""
    return tuple(check.name for check in checks if check.state == state)


def list_failure_reasons(checks: Iterable[ForgeCheck]) -> tuple[str, ...]:
    """Return a line for each failed check, for those who are to repair the work; empty if none failed."""
    failed = [check for check in checks if check.state == "failed"]
    more = list_check_names(failed[_MAX_DESCRIBED:], "failed")
    rest = [f"{len(more)} more of the forge's checks failed: {', '.join(more)}"] if more else []
    return (*map(_format_failure, failed[:_MAX_DESCRIBED]), *rest)


def _format_failure(check: ForgeCheck) -> str:
    text = f"the forge's check {check.name} failed"
    if check.url:
        text += f" ({check.url})"
    if check.summary:
        text += f": {check.summary}"
    return text


def format_check_lines(checks: Sequence[ForgeCheck]) -> tuple[str, ...]:
    """Return a line for each check, for a judge; failed ones give their reason as far as there is room."""
    described = [check for check in checks if check.state == "failed" and check.summary][:_MAX_DESCRIBED]
    lines = []
    for check in checks:
        line = f"{check.name}: {check.state}"
        if check in described:
            line += f": {check.summary}"
        lines.append(line)
    return tuple(lines)
