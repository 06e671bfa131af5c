"""Describe what a command of a person is about."""

from orchestrator.domain.commands.definitions import (
    AddCriterion,
    Command,
    Configure,
    Cordon,
    Drain,
    DropCriterion,
    StopCall,
    Tell,
    Uncordon,
)
from orchestrator.domain.run_labels import find_labels, format_labels
from orchestrator.domain.text.listing import add_lead
from orchestrator.domain.text.sanitization import to_one_line

_WORDS_CHARS = 200
FINISHES = "what is running is finished, nothing new begins"
_STOP_WORDS = {
    "drain": f": {FINISHES}",
    "interrupt": " at once",
    "terminate": " at once",
}


def describe_command_subject(command: Command) -> str:
    """Return what a command is about behind a blank or colon; empty where its name says all."""
    match command:
        case AddCriterion():
            return f" {command.criterion.id}: {command.criterion.text}"
        case DropCriterion():
            return f" {command.id}"
        case Tell():
            return f" {command.task}{' at once' * command.is_now}: {to_one_line(command.note, _WORDS_CHARS)}"
        case Configure() if labels := find_labels(command.settings):
            return f" labels: {to_one_line(' '.join(format_labels(labels)), _WORDS_CHARS)}"
        case Cordon() | Uncordon() | Drain():
            return f" {command.host}"
        case StopCall():
            return f" {command.session}{add_lead(': ', command.reason)}"
    return _STOP_WORDS.get(getattr(command, "how", ""), "")
