"""The policy files of a project: the user's, and the project's at a commit or as it stands in a checkout."""

from pathlib import Path

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
from orchestrator.domain.policy.rules import RuleSet
from orchestrator.errors import UsageProblem
from worktrees.git import Git
from worktrees.object_store.trees import list_tree, read_blob

_REGULAR_MODES = ("100644", "100755")


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


def read_policy_files(config: Config, root: Path | None) -> tuple[RuleSet, ...]:
    """Return the rules of the user's file and of the project's as it stands in a checkout. Blocks.

    Args:
        config: names the user's file.
        root: the top of the checkout; None for no project.

    Raises:
        UsageProblem: a file cannot be used; names file and line.
    """
    found = []
    path = find_user_policy_path(config.policy, get_user_config_path())
    if WatchedPolicyFile(path).has_file() or config.policy.file:
        found.append(parse_rule_set(read_policy_text(path), "user", str(path)))
    project = root / PROJECT_POLICY_FILE if root else None
    if project is not None and WatchedPolicyFile(project).has_file():
        found.append(parse_rule_set(read_policy_text(project), "project", PROJECT_POLICY_FILE))
    return tuple(found)
