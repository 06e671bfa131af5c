"""Show the lines that restarts of a run left behind and the refs that keep them."""

from collections.abc import Iterator

from orchestrator.domain.ids import CommitId, TaskId
from orchestrator.domain.refs import shorten_ref
from orchestrator.domain.restart.left_line import LeftLine
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.listing import add_lead, format_count, join_limited
from orchestrator.report.read_model import ReadModel

_SHOWN = 5


class LeftIteration(ReadModel):
    """The line that one restart left behind. The ref `kept` holds the commits from `start` to `tip`.

    `tasks` had landed on them; `foreign` is the number of commits among them that the run did not make.
    """

    iteration: int
    start: CommitId
    tip: CommitId
    kept: str
    tasks: tuple[TaskId, ...]
    foreign: int

    @property
    def task_names(self) -> str:
        """The tasks in one line."""
        return join_limited(self.tasks, _SHOWN)


def build_left_iterations(state: RunState) -> tuple[LeftIteration, ...]:
    """Return what each restart left behind, oldest first."""
    return tuple(LeftIteration(**dict(line)) for line in state.goal.left_lines)


def render_left_lines(run: str, left: tuple[LeftIteration, ...], where: str = "") -> Iterator[str]:
    """Yield a line for each restart, with a command that shows what it left; `where` are options of other verbs."""
    for line in left:
        what = f"{format_count(len(line.tasks), 'task')} of iteration {line.iteration}"
        if line.foreign:
            what += f" and {format_count(line.foreign, 'commit')} of other people"
        named = add_lead(" (", line.task_names, ")")
        command = f"orchestrate diff {run} {shorten_ref(line.kept)}{where}"
        yield f"a restart left {what} behind{named}, kept in {line.kept}: {command}"


def find_left_line(state: RunState, name: str) -> LeftLine | None:
    """Return what a restart left behind by its ref, whole or as `iterations/1`; None if there is none."""
    for line in state.goal.left_lines:
        if name in {line.kept, shorten_ref(line.kept)}:
            return line
    return None
