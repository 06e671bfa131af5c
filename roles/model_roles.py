"""The roles together."""

from collections.abc import Mapping
from types import MappingProxyType

from orchestrator.agent.tool_servers import MCP_PROMPT
from roles.arbiter import ModelArbiter
from roles.judge import ModelJudge
from roles.memory_words import MEMORY_PROMPTS
from roles.planner import ModelPlanner
from roles.role_context import RoleContext
from roles.verifier import ModelVerifier
from roles.worker import ModelWorker

ROLE_PROMPTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "planner": ("planner",),
        "worker": ("worker", "migrate"),
        "judge": ("judge", "iteration", "retro"),
        "verifier": ("verifier",),
        "arbiter": ("arbiter",),
    }
)
"""Role → the first words of the names of its prompts."""
SHARED_PROMPTS = frozenset(
    {
        "project-rules",
        "role-instructions",
        "session-carryover",
        "session-carryover-brief",
        MCP_PROMPT,
        *MEMORY_PROMPTS,
    }
)
"""The prompts that conversations of several roles share, and so are no single role's."""


def is_prompt_of_role(role: str, prompt: str) -> bool:
    """Return True if a prompt, by its name, is one of a role's."""
    return prompt.partition("-")[0] in ROLE_PROMPTS[role]


class ModelRoles:
    """A `ports.Roles` on the models of the configuration."""

    def __init__(self, around: RoleContext) -> None:
        self.planner = ModelPlanner(around)
        self.worker = ModelWorker(around)
        self.arbiter = ModelArbiter(around)
        self.judge = ModelJudge(around)
        self.verifier = ModelVerifier(around)
