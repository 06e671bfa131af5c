"""The capability ladder: how much a command may reach; and what a tool works on, by which violations are found."""

from enum import IntEnum, StrEnum


class Tier(IntEnum):
    """Each tier adds to the one below; they are recorded by number."""

    FILES = 0
    COMMANDS = 1
    REGISTRIES = 2
    EVERYTHING = 3

    @property
    def description(self) -> str:
        """The abilities that the tier offers, for people and models."""
        return _WORDS[self]


_WORDS = {
    Tier.FILES: "files only",
    Tier.COMMANDS: "commands without network",
    Tier.REGISTRIES: "commands that reach the user's package registries and nothing else",
    Tier.EVERYTHING: "commands with the whole network",
}


class ToolReach(StrEnum):
    """The things that tools work on: paths of the workspace, a command, a server, the task's tier, or none."""

    FILES = "files"
    COMMAND = "command"
    SERVER = "server"
    TIER = "tier"
    NOTHING = "nothing"
