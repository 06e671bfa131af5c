"""The same yard, workspaces and projects as the rooms' own tests have, for attacks on all of them."""

from tests.unit.hands.conftest import (
    backend,
    hands,
    living,
    outside,
    pytest_generate_tests,
    shell,
    shell_in,
    workspace,
    yard,
)
from tests.unit.worktrees.conftest import pool, project, repository, template, worktree

__all__ = [
    "backend",
    "hands",
    "living",
    "outside",
    "pool",
    "project",
    "pytest_generate_tests",
    "repository",
    "shell",
    "shell_in",
    "template",
    "workspace",
    "worktree",
    "yard",
]
