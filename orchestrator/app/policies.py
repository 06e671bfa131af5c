"""The policy of a run: the user's file, the project's at the run's base, and the guard that keeps both."""

from collections.abc import Callable

from orchestrator.config.layers import get_user_config_path
from orchestrator.config.model import Config
from orchestrator.config.policy_file import WatchedPolicyFile, find_user_policy_path
from orchestrator.domain.ids import CommitId
from orchestrator.engine.control.policy_guard import RunPolicyGuard
from orchestrator.journal.journal import Journal
from orchestrator.project.policy_files import read_project_policy
from worktrees.git import Git


async def open_policy(
    journal: Journal, git: Git, base: CommitId, settings: Callable[[], Config], *, is_replay: bool = False
) -> RunPolicyGuard:
    """Return the guard of a run that began at `base`, with its rules read; a replay goes by those in its journal.

    Raises:
        UsageProblem: one of the files cannot be used.
    """
    policy = settings().policy
    watched = None if is_replay else WatchedPolicyFile(find_user_policy_path(policy, get_user_config_path()))
    project = await read_project_policy(git, base)
    guard = RunPolicyGuard(journal, watched, project, lambda: settings().approval, is_named=bool(policy.file))
    await guard.open_rules()
    return guard
