"""The tools by which a role runs commands: a shell, and programs in code mode."""

from collections.abc import Callable
from functools import partial

from orchestrator.agent.tools.base import AnyTool
from orchestrator.agent.tools.program import build_program_tool
from orchestrator.agent.tools.shell import build_shell_tool
from orchestrator.config.roles import CommandingSettings
from orchestrator.domain.policy.rules import PolicyActor
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.ports.hands import Workspace
from roles.role_context import RoleContext


def build_command_tools(
    around: RoleContext,
    settings: CommandingSettings,
    workspace: Workspace,
    tier: Callable[[], Tier],
    *,
    actor: PolicyActor,
    is_writing: bool = True,
) -> list[AnyTool]:
    """Return the tools that run commands at the tier of each time; none for a role that works on files only.

    The policy decides about the hosts that an actor's commands reach.
    """
    if tier() == Tier.FILES:
        return []
    hands = around.config.hands
    longest_s, output_bytes = hands.command_timeout_s, hands.output_mb * 1024 * 1024
    rules = partial(around.policy.build_host_rules, actor)
    shell = build_shell_tool(workspace, longest_s, output_bytes, tier, is_writing=is_writing, host_rules=rules)
    if not settings.code_mode:
        return [shell]
    return [
        shell,
        build_program_tool(workspace, longest_s, output_bytes, tier, is_writing=is_writing, host_rules=rules),
    ]
