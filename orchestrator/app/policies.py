"""The policy of a run: the user's file, the project's at the run's base, and the guard that keeps both."""

from collections.abc import Callable

from orchestrator.config.layers import get_user_config_path
from orchestrator.config.model import Config
from orchestrator.config.policy_file import (
    PROJECT_POLICY_FILE,
    WatchedPolicyFile,
    decode_policy,
    find_user_policy_path,
    parse_rule_set,
    read_policy_text,
)
from orchestrator.domain.ids import CommitId
from orchestrator.engine.control.policy_guard import RunPolicyGuard
from orchestrator.errors import UsageProblem
from orchestrator.journal.journal import Journal
from worktrees.git import Git
from worktrees.object_store.trees import list_tree, read_blob

_REGULAR_MODES = ("100644", "100755")


async def open_policy(journal: Journal, git: Git, base: CommitId, settings: Callable[[], Config]) -> RunPolicyGuard:
    """Return the guard of a run that began at `base`, with its rules read.

    Raises:
        UsageProblem: one of the files cannot be used.
    """
    policy = settings().policy
    watched = WatchedPolicyFile(find_user_policy_path(policy, get_user_config_path()))
    project = await read_project_policy(git, base)
    guard = RunPolicyGuard(journal, watched, project, lambda: settings().approval, is_named=bool(policy.file))
    await guard.open_rules()
    return guard


async def read_project_policy(git: Git, commit: CommitId) -> str:
    """Return the text of the project's policy file in a commit; empty where it has none.

    Raises:
        UsageProblem: it is no regular file, too large or not UTF-8.
    """
    for entry in await list_tree(git, commit, [PROJECT_POLICY_FILE]):
        if entry.path != PROJECT_POLICY_FILE:
            continue
        if entry.mode not in _REGULAR_MODES:
            raise UsageProblem(f"{PROJECT_POLICY_FILE} is no regular file in {commit[:12]}: commit one, or none")
        return decode_policy(await read_blob(git, entry.oid, entry.path), PROJECT_POLICY_FILE)
    return ""


async def require_usable_policy(config: Config, git: Git, commit: CommitId) -> None:
    """Refuse to begin a run whose policy could not be kept.

    Raises:
        UsageProblem: a file that is named does not exist, or a file cannot be used; names file and line.
    """
    path = find_user_policy_path(config.policy, get_user_config_path())
    if WatchedPolicyFile(path).has_file() or config.policy.file:
        parse_rule_set(read_policy_text(path), "user", str(path))
    parse_rule_set(await read_project_policy(git, commit), "project", PROJECT_POLICY_FILE)
