"""Commands in the words of people, and which of them have to be confirmed."""

from collections.abc import Mapping

from orchestrator.domain.commands.definitions import (
    AddCriterion,
    Cancel,
    Command,
    Publish,
    Retry,
    RollbackShards,
    Stop,
    StopCall,
)
from orchestrator.domain.text.listing import join_limited
from orchestrator.domain.text.sanitization import to_one_line

DANGEROUS_COMMANDS = (Cancel, Stop, StopCall, RollbackShards)
"""Commands that end or take back what somebody waits for."""
_TARGET_FIELDS = ("item", "task", "session", "files", "shard", "shards", "groups", "id")
"""The fields that say what a command is about; each has at most one."""
_WHOLE: Mapping[type[Command], str] = {Cancel: "the whole run", Publish: "all groups"}
_MAX_NAMES = 3
_NOTE_CHARS = 60
_CONSEQUENCES: Mapping[type[Command], str] = {
    Cancel: "what landed stays",
    StopCall: "its command ends, the agent is told and goes on",
    RollbackShards: "by one more commit, tested first",
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
    consequence = _CONSEQUENCES.get(type(command), "")
    if consequence:
        return f"{describe_command(command)}: {consequence}"
    return describe_command(command)


def _get_verb(command: Command) -> str:
    """Return the verb of a command: `retry-files` is `retry` to people."""
    if isinstance(command, Stop):
        return command.how
    verb, _, things = command.do.rpartition("-")
    if things in {"files", "shard", "shards"}:
        return verb
    return command.do


def _describe_target(command: Command) -> str:
    if isinstance(command, AddCriterion):
        return f"{command.criterion.id}: {command.criterion.text}"
    if isinstance(command, Retry) and command.turn is not None:
        return f"{command.task} from turn {command.turn}"
    for name in _TARGET_FIELDS:
        target = getattr(command, name, None)
        if isinstance(target, str):
            return target
        if target:
            return join_limited(target, _MAX_NAMES)
    return _WHOLE.get(type(command), "")
