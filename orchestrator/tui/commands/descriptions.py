"""Commands in the words of people, and which of them have to be confirmed."""

from collections.abc import Mapping, Sequence

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
from orchestrator.domain.text.sanitization import to_one_line

DANGEROUS_COMMANDS = (Cancel, Stop, StopCall, RollbackShards)
"""Commands that end or take back what somebody waits for."""
_ABOUT = ("item", "task", "session", "files", "shard", "shards", "groups", "id")
"""The fields that say what a command is about; each has at most one."""
_SHOWN = 3
_SAID = 60


_THEN: Mapping[type[Command], str] = {
    Cancel: "what landed stays",
    StopCall: "its command ends, the agent is told and goes on",
    RollbackShards: "by one more commit, tested first",
}


def is_dangerous(command: Command) -> bool:
    """Return True if a person has to confirm the command."""
    return isinstance(command, DANGEROUS_COMMANDS)


def describe_command(command: Command) -> str:
    """Return the command in words, as `retry parser (look at x)`."""
    name = command.how if isinstance(command, Stop) else _name(command.do)
    said = to_one_line(getattr(command, "reason", "") or getattr(command, "note", ""), _SAID)
    return " ".join(filter(None, (name, _about(command), f"({said})" if said else "")))


def describe_with_consequence(command: Command) -> str:
    """Return the command with what follows from it, as `cancel parser: what landed stays`."""
    then = _THEN.get(type(command), "")
    if then:
        return f"{describe_command(command)}: {then}"
    return describe_command(command)


def _name(do: str) -> str:
    """Return the verb of a command: `retry-files` is `retry` to people."""
    verb, _, what = do.rpartition("-")
    if what in {"files", "shard", "shards"}:
        return verb
    return do


def _about(command: Command) -> str:
    if isinstance(command, AddCriterion):
        return f"{command.criterion.id}: {command.criterion.text}"
    found = next((getattr(command, name) for name in _ABOUT if hasattr(command, name)), "")
    words = found if isinstance(found, str) else _named(found or ())
    if isinstance(command, Retry) and command.turn is not None:
        return f"{words} from turn {command.turn}"
    if not words:
        return {Cancel: "the whole run", Publish: "all groups"}.get(type(command), "")
    return words


def _named(names: Sequence[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
