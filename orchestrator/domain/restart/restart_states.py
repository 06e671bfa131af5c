"""The states of the PR branch from which a restart can begin again: the base, and what each landing made of it."""

from collections.abc import Iterator, Sequence

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import CommitId, TaskId, parse_unit_task
from orchestrator.domain.run.state import RunState

BASE_STATE = "base"
_ID_CHARS = 12
_FIRST = 4
_TASKS_NAMED = 8


class RestartState(FrozenModel):
    """The branch as a landing left it; `tasks` are those that landed then."""

    commit: CommitId
    tasks: tuple[TaskId, ...] = ()

    @property
    def id(self) -> str:
        """The short name by which a judge names it."""
        return self.commit[:_ID_CHARS]


def list_restart_states(state: RunState) -> tuple[RestartState, ...]:
    """Return the states that a restart can begin again from, oldest first: the base, then each landing."""
    states = [RestartState(commit=state.run.base)]
    for landing in state.landings:
        if not landing.is_squash:
            tasks = tuple(dict.fromkeys(map(parse_unit_task, landing.units)))
            states.append(RestartState(commit=landing.new, tasks=tasks))
    return tuple(states)


def find_restart_commit(states: Sequence[RestartState], name: str) -> CommitId | None:
    """Return the commit of the state with this name, also a longer one; the base's for none. None if it is unknown."""
    wanted = name.strip().lower()
    if wanted in {"", BASE_STATE}:
        return states[0].commit
    for state in states:
        if wanted.startswith(state.id) and state.commit.startswith(wanted):
            return state.commit
    return None


def format_restart_states(states: Sequence[RestartState], limit: int) -> str:
    """Return a line for each state, oldest first; of more than fit in `limit` characters the first and the newest."""
    lines = list(_iterate_lines(states))
    first, newest = lines[:_FIRST], lines[_FIRST:]
    room = limit - sum(map(len, first))
    shown: list[str] = []
    for line in reversed(newest):
        room -= len(line)
        if room < 0 and shown:
            break
        shown.insert(0, line)
    if left_out := len(newest) - len(shown):
        first.append(f"- … {left_out:,} more")
    return "\n".join((*first, *shown))


def _iterate_lines(states: Sequence[RestartState]) -> Iterator[str]:
    for number, state in enumerate(states):
        if number == 0:
            yield f"- {state.id}: the base, before anything landed"
            continue
        named = ", ".join(state.tasks[:_TASKS_NAMED])
        if len(state.tasks) > _TASKS_NAMED:
            named += f" and {len(state.tasks) - _TASKS_NAMED} more"
        yield f"- {state.id}: after landing {number} of {len(states) - 1}, which brought {named}"
