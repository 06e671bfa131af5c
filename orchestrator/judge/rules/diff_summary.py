"""Rules about a diff that need no test run. A finding either stops the candidate or is told to the reviewers."""

from collections import Counter
from collections.abc import Iterable, Sequence

from pathspec import GitIgnoreSpec

from orchestrator.domain.judging.verdict import Finding
from orchestrator.domain.run.task import Task

MAX_CHANGED_LINES = 5_000


MAX_FLAGS_PER_RULE = 5
"""Of one rule; whoever reads more than that reads none."""


def limit_flags(findings: Iterable[Finding], most: int = MAX_FLAGS_PER_RULE) -> tuple[Finding, ...]:
    """What blocks, and of what is only told the first of each rule, with how many more there are."""
    seen: Counter[str] = Counter()
    kept = []
    for finding in findings:
        seen[finding.rule] += not finding.is_blocking
        if finding.is_blocking or seen[finding.rule] <= most:
            kept.append(finding)
    left = {}
    for rule, count in seen.items():
        if count > most:
            left[rule] = count - most
    more = []
    for rule, n in left.items():
        more.append((rule, f"and {n} more of the kind `{rule}`"))
    return (*kept, *(Finding(rule=rule, text=text, is_blocking=False) for rule, text in more))


def check_diff_summary(
    task: Task,
    paths: Sequence[str],
    changed_lines: int,
    dropped: Sequence[str],
    grown: bool,
    leaked: Sequence[str] = (),
    flagged: Sequence[str] = (),
    uncounted: int = 0,
) -> tuple[Finding, ...]:
    """All findings on a candidate.

    Args:
        task: what was asked for.
        paths: every path the candidate touches.
        changed_lines: lines added and removed, as far as somebody has to read them.
        dropped: what the snapshot left out, with reasons.
        grown: whether the candidate differs from its base at all.
        leaked: which files hold which secret of the user's.
        flagged: what the snapshot took and a reviewer should know of, with reasons.
        uncounted: lines added and removed in lock files, and in files that were generated before.
    """
    findings = []
    if not grown:
        findings.append(Finding(rule="empty", text="nothing was changed", is_blocking=True))
    if changed_lines > MAX_CHANGED_LINES:
        findings.append(Finding(rule="size", text=_too_large(changed_lines, uncounted), is_blocking=True))
    if leaked:
        text = f"{join_first_items(leaked, '; ')}: take it out, and name the variable in its place"
        findings.append(Finding(rule="secret", text=text, is_blocking=True))
    if dropped:
        findings.append(Finding(rule="dropped", text=f"left out: {join_first_items(dropped, '; ')}", is_blocking=False))
    if flagged:
        findings.append(
            Finding(rule="flagged", text=f"to be looked at: {join_first_items(flagged, '; ')}", is_blocking=False)
        )
    if outside := list_paths_out_of_scope(task, paths):
        text = f"outside the paths the task expected to change: {join_first_items(outside, ', ')}"
        findings.append(Finding(rule="scope", text=text, is_blocking=False))
    return tuple(findings)


def _too_large(changed_lines: int, uncounted: int) -> str:
    if uncounted:
        beside = f", {uncounted} of lock and generated files not counted"
    else:
        beside = ""
    many = f"{changed_lines} changed lines{beside}"
    return f"{many} are more than a reviewer can read ({MAX_CHANGED_LINES}): do less at once"


def join_first_items(items: Sequence[str], between: str, shown: int = 10) -> str:
    """The first few of many, and how many more there are."""
    if len(items) > shown:
        more = f"{between}and {len(items) - shown} more"
    else:
        more = ""
    return between.join(items[:shown]) + more


def list_paths_out_of_scope(task: Task, paths: Sequence[str]) -> tuple[str, ...]:
    """The paths that none of the task's globs covers; none if the task names no paths."""
    if not task.paths:
        return ()
    scope = GitIgnoreSpec.from_lines(task.paths)
    return tuple(path for path in paths if not scope.match_file(path))
