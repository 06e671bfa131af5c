"""The kinds of things that tools work on: each tool says its own, by which policy violations are found."""

from enum import StrEnum


class ToolReach(StrEnum):
    """The things that tools work on: paths of the workspace, a command in the sandbox, the task's tier, or none."""

    FILES = "files"
    COMMAND = "command"
    TIER = "tier"
    NOTHING = "nothing"
