"""What the user of a migration can do next, in one line."""

from orchestrator.domain.migration import FileStatus
from orchestrator.domain.state import RunState


def next_step(state: RunState) -> str:
    """A command to type with what it does; empty while the run needs nobody."""
    run = state.run.run
    if state.waiting:
        item = state.waiting[0].approval.item
        return f"orchestrate approve {run} {item} (or deny): the run waits for your answer"
    if state.ended is None:
        return f"orchestrate resume {run}: it has stopped and can go on" if state.paused else ""
    left = sum(file.status.is_left_over for file in state.files.values())
    if left:
        return f"orchestrate migrate report {run}: why {left} file{'s' * (left != 1)} did not land"
    if any(file.status == FileStatus.MERGED for file in state.files.values()):
        return f"orchestrate diff {run}: look at what landed"
    return ""
