"""The identity of an agent: who works on what in which run, as journal, commits, hooks and traces name it."""

from collections.abc import Mapping

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import TaskId
from orchestrator.domain.text.sanitization import to_one_line

LOOP_ENGINE = "loop"
"""The engine of agents that have none named: the house's own loop."""
_PART_CHARS = 200
_VARIABLE_PREFIX = "ORCHESTRATE_"


def hide_model_path(model: str) -> str:
    """Return a model's name without a path of this machine: `scripted:/tmp/a.json` becomes `scripted`."""
    provider, mark, _ = model.partition(":/")
    return provider if mark else model


class AgentIdentity(FrozenModel):
    """The one who works: the run itself where `role` is empty, else a role's agent, on a task if there is one.

    `attempt` is the number of the task's latest attempt, 0 before the first. `engine` is the guest that works, or
    `loop`. `policy` is the hash of the policy that decides; empty where there is none.
    """

    run: str
    task: TaskId | None = None
    attempt: int = 0
    role: str = ""
    model: str = ""
    engine: str = ""
    policy: str = ""

    def format_trailer(self) -> str:
        """Return what a commit says of who made it, in one line: `role=worker; model=…; engine=loop; policy=…`."""
        parts = {"role": self.role, "model": hide_model_path(self.model), "engine": self.engine, "policy": self.policy}
        words = []
        for name, value in parts.items():
            if value:
                words.append(f"{name}={to_one_line(value, _PART_CHARS)}")
        return "; ".join(words)

    def build_environment(self) -> Mapping[str, str]:
        """Return the variables by which commands of the user learn it; what is not known has none."""
        variables = {}
        for name, value in self.model_dump(mode="json").items():
            if value:
                variables[f"{_VARIABLE_PREFIX}{name.upper()}"] = str(value)
        return variables


IDENTITY_VARIABLES = tuple(f"{_VARIABLE_PREFIX}{name.upper()}" for name in AgentIdentity.model_fields)
"""The names of all variables of an identity."""
