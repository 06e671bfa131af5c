"""What a tool works on, as it says itself: by that a use that was refused, or tried too much, is told."""

from enum import StrEnum


class ToolReach(StrEnum):
    """What a tool works on: paths of the workspace, a command in the sandbox, the tier of the task, or none of these."""

    FILES = "files"
    COMMAND = "command"
    TIER = "tier"
    NOTHING = "nothing"
