"""The same yard, workspaces and projects as the rooms' own tests have, for attacks on all of them."""

from tests.unit.hands.conftest import hands, living, outside, shell, shell_in, workspace, yard
from tests.unit.worktrees.conftest import pool, project, repository, template, worktree

__all__ = [
    "hands",
    "living",
    "outside",
    "pool",
    "project",
    "repository",
    "shell",
    "shell_in",
    "template",
    "workspace",
    "worktree",
    "yard",
]
