"""Suggest what the user of a run can do next, in one line."""

import shlex

from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.listing import format_count


def suggest_next_step(state: RunState) -> str:
    """Return a command to type and what it does; empty while the run needs nobody."""
    run = state.run.run
    if state.pending_approvals:
        item = shlex.quote(state.pending_approvals[0].approval.item)
        return f"orchestrate approve {run} {item} (or deny, or a in orchestrate watch): the run waits for your answer"
    if state.ended is None:
        if state.paused:
            return f"orchestrate resume {run}: it has stopped and can go on"
        return ""
    if state.run.mode == "migration":
        return _suggest_after_migration(state)
    return _suggest_after_goal(state)


def _suggest_after_migration(state: RunState) -> str:
    run, left = state.run.run, sum(file.status.is_left_over for file in state.migration.files.values())
    if left:
        return f"orchestrate migrate report {run}: why {format_count(left, 'file')} did not land"
    if any(file.status == FileStatus.MERGED for file in state.migration.files.values()):
        return f"orchestrate diff {run}: look at what landed"
    return ""


def _suggest_after_goal(state: RunState) -> str:
    run = state.run.run
    if state.ended and state.ended.outcome != "done":
        return f"orchestrate report {run}: how it was judged, and what did not land"
    if state.head:
        return f"orchestrate diff {run}: look at what landed"
    return ""
