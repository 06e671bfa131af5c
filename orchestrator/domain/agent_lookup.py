"""Finding the identity of an agent in the state of its run."""

from orchestrator.domain.chat import Role
from orchestrator.domain.identity import LOOP_ENGINE, AgentIdentity
from orchestrator.domain.ids import SessionId, TaskId, UnitId, parse_unit_id
from orchestrator.domain.run.state import RunState
from orchestrator.domain.run.task import Attempt

_AT_WORK = frozenset({"worker", "arbiter"})


def build_run_identity(state: RunState) -> AgentIdentity:
    """Return the identity of the run itself."""
    run = state.started.run if state.started else ""
    return AgentIdentity(run=run, policy=state.policy.policy if state.policy else "")


def build_attempt_identity(state: RunState, attempt: Attempt, engine: str, policy: str) -> AgentIdentity:
    """Return the identity of an attempt; an empty `engine` is the house's own loop."""
    role: Role = "arbiter" if attempt.mode == "arbitrate" else "worker"
    own = {"task": attempt.task, "attempt": attempt.number, "role": role, "model": attempt.model}
    return build_run_identity(state).model_copy(update={**own, "engine": engine or LOOP_ENGINE, "policy": policy})


def find_attempt_identity(state: RunState, task: TaskId, number: int) -> AgentIdentity | None:
    """Return the identity that an attempt began with; None if it never did."""
    known = state.tasks.get(task)
    for identity in known.identities if known else ():
        if identity.attempt == number:
            return identity
    return None


def find_unit_identity(state: RunState, unit: UnitId) -> AgentIdentity | None:
    """Return the identity of the attempt that a unit of the queue stands for; None if it stands for none."""
    ref = parse_unit_id(unit)
    return find_attempt_identity(state, ref.task, ref.number) if ref else None


def find_session_identity(state: RunState, session: SessionId) -> AgentIdentity:
    """Return the identity of whoever has a conversation; that of the run if it never began."""
    known = state.sessions.get(session)
    run = build_run_identity(state)
    if known is None:
        return run
    own = {"task": known.task, "attempt": known.attempt, "role": known.role, "model": known.model}
    identity = run.model_copy(update={**own, "engine": LOOP_ENGINE})
    begun = find_attempt_identity(state, known.task, known.attempt) if known.task else None
    if begun is not None and known.role in _AT_WORK:
        return identity.model_copy(update={"engine": begun.engine, "policy": begun.policy})
    return identity
