"""Commands in the words of people, and which of them have to be confirmed."""

import re
from collections.abc import Mapping

from orchestrator.domain.commands import definitions as commands
from orchestrator.domain.commands.definitions import Command
from orchestrator.domain.text.listing import join_limited
from orchestrator.domain.text.sanitization import to_one_line

DANGEROUS_COMMANDS = (commands.Cancel, commands.Stop, commands.StopCall, commands.RollbackShards)
"""Commands that end or take back what somebody waits for."""
_TARGET_FIELDS = ("item", "task", "session", "files", "shard", "shards", "groups", "id")
"""The fields that say what a command is about; each has at most one."""
_WHOLE: Mapping[type[Command], str] = {commands.Cancel: "the whole run", commands.Publish: "all groups"}
_MAX_NAMES = 3
_NOTE_CHARS = 60
_CONSEQUENCES: Mapping[type[Command], str] = {
    commands.Cancel: "what landed stays",
    commands.StopCall: "its command ends, the agent is told and goes on",
    commands.RollbackShards: "by one more commit, tested first",
}


def is_dangerous(command: Command) -> bool:
    """Return True if a person has to confirm the command."""
    return isinstance(command, DANGEROUS_COMMANDS)


def describe_command(command: Command) -> str:
    """Return the command in words, as `retry parser (look at x)`."""
    words = [_get_verb(command), _describe_target(command)]
    if note := to_one_line(getattr(command, "reason", "") or getattr(command, "note", ""), _NOTE_CHARS):
        words.append(f"({note})")
    return " ".join(filter(None, words))


def describe_with_consequence(command: Command) -> str:
    """Return the command with what follows from it, as `cancel parser: what landed stays`."""
    return ": ".join(filter(None, (describe_command(command), _CONSEQUENCES.get(type(command)))))


def _get_verb(command: Command) -> str:
    """Return the verb of a command: `retry-files` is `retry` to people."""
    if isinstance(command, commands.Stop):
        return command.how
    return re.sub("-(files|shards?)$", "", command.do)


def _describe_target(command: Command) -> str:
    if isinstance(command, commands.AddCriterion):
        return f"{command.criterion.id}: {command.criterion.text}"
    if isinstance(command, commands.Retry) and command.turn is not None:
        return f"{command.task} from turn {command.turn}"
    for name in _TARGET_FIELDS:
        target = getattr(command, name, None)
        if isinstance(target, str):
            return target
        if target:
            return join_limited(target, _MAX_NAMES)
    return _WHOLE.get(type(command), "")
