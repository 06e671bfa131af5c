"""Typed commands of a dashboard: verbs of the command line without the run, about what is named or else selected."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from orchestrator.domain.commands.catalog import MIGRATION_VERBS, OLD_VERBS, TYPED_COMMANDS
from orchestrator.domain.commands.catalog_entry import CatalogEntry, CommandOption, Target
from orchestrator.domain.commands.definitions import Command, Retry
from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.run.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.report.command_builder import build_command, build_criterion, parse_comments
from orchestrator.report.rows.questions import get_question_item
from orchestrator.tui.commands import builders
from orchestrator.tui.view_model import Subject, SubjectKind

_FAILED = frozenset({FileStatus.REJECTED, FileStatus.UNCHANGED, FileStatus.NEEDS_HUMAN})
_MAX_DIGITS = 9
"""A longer number is none of anything, and Python reads only so many digits."""


@dataclass(frozen=True)
class CommandArguments:
    """The words of a command behind its verb, and its options by name; one that takes no value has `yes`."""

    words: tuple[str, ...]
    options: Mapping[str, str]
    repeated: Mapping[str, Sequence[str]]
    """The values of options that may be given several times."""

    def get_option(self, *names: str) -> str:
        """Return the value of the first of these options that was given; empty if none was."""
        return next((self.options[name] for name in names if name in self.options), "")


def _parse_arguments(verb: str, given: Sequence[str], options: Mapping[str, CommandOption]) -> CommandArguments:
    """Return the words and the options of a verb; what stands behind `--` are words.

    Raises:
        UsageProblem: the verb has no such option, or its value is missing.
    """
    words: list[str] = []
    values: dict[str, str] = {}
    repeated: dict[str, list[str]] = {}
    rest = list(given)
    while rest:
        word = rest.pop(0)
        if word == "--":
            words += rest
            break
        if not word.startswith("--"):
            words.append(word)
            continue
        name, is_joined, value = word[2:].partition("=")
        if name not in options:
            raise UsageProblem(_describe_unknown_option(verb, name, list(options)))
        if options[name].kind == "flag":
            value = value or "yes"
        elif not is_joined:
            if not rest:
                raise UsageProblem(f"option '--{name}' requires an argument")
            value = rest.pop(0)
        if options[name].kind == "texts":
            repeated.setdefault(name, []).append(value)
        else:
            values[name] = value
    return CommandArguments(tuple(words), values, repeated)


def _describe_unknown_option(verb: str, name: str, known: Sequence[str]) -> str:
    others = f"; there are --{', --'.join(known)}" * bool(known)
    return f"no such option for {verb}: --{name}{others}"


def parse_commands(text: str, selected: Sequence[Subject], state: RunState) -> list[Command]:
    """Return the commands that a line such as `retry parser "look at x"` stands for.

    Args:
        text: what was typed, with or without the colon; `migrate retry` is `retry` here.
        selected: what the line is about if it names nothing.
        state: the run.

    Raises:
        UsageProblem: there is no such verb, or it makes no sense with these words; as the command line says it.
    """
    text = text.strip().removeprefix(":")
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageProblem(f"{error}: {text}") from error
    for prefix in ("orchestrate", "migrate"):
        if words[:1] == [prefix]:
            words = words[1:]
    known = ", ".join(TYPED_COMMANDS)
    if not words:
        raise UsageProblem(f"no command is given; there are {known}")
    words[0] = OLD_VERBS.get(words[0], words[0])
    name = " ".join(words[:2])
    if name not in TYPED_COMMANDS:
        name = words[0]
    if name not in TYPED_COMMANDS:
        raise UsageProblem(f"no such command {name!r}; there are {known}")
    arguments = _parse_arguments(name, words[len(name.split()) :], _list_options(name))
    line = _TypedLine(TYPED_COMMANDS[name], arguments, selected, state)
    return _BUILDERS[line.entry.target](line)


def _list_options(name: str) -> Mapping[str, CommandOption]:
    """Return the options of a typed command by name; `retry` has those for tasks and those for files."""
    options = dict[str, CommandOption]()
    of_files = MIGRATION_VERBS[name].options if name in MIGRATION_VERBS else ()
    for option in (*TYPED_COMMANDS[name].options, *of_files):
        if option.is_in_palette:
            options.setdefault(option.name, option)
    return options


@dataclass(frozen=True)
class _TypedLine:
    """A typed command with what it may be about."""

    entry: CatalogEntry
    arguments: CommandArguments
    selected: Sequence[Subject]
    state: RunState

    def get_note(self, words: Sequence[str]) -> str:
        """Return the value of `--reason` or `--note`, else these words."""
        return self.arguments.get_option("reason", "note") or " ".join(words)

    def split_name_and_note(self) -> tuple[Sequence[str], str]:
        """Return what the line names, at most one thing if it can have a note, and the note.

        A first word with blanks in it is a sentence about what is selected.
        """
        words = self.arguments.words
        if not self.entry.note_option:
            return words, ""
        if words and self.selected and " " in words[0]:
            return (), self.get_note(words)
        return words[:1], self.get_note(words[1:])

    def find_subjects(self, kind: SubjectKind) -> tuple[Sequence[Subject], str]:
        """Return what the line is about, named things of this kind or else what is selected, and its note."""
        names, note = self.split_name_and_note()
        if self.arguments.get_option("failed", "signature"):
            return self._find_failed_files(), note
        return [self.find_subject(name, kind) for name in names] or self.selected, note

    def find_subject(self, name: str, kind: SubjectKind) -> Subject:
        """Return the thing of this name; tasks may be named by a conversation, and are files in a migration."""
        if kind == "task" and name in self.state.sessions:
            return Subject("session", name)
        if kind == "task" and self.state.run.mode == "migration":
            return Subject("file", name)
        return Subject(kind, name)

    def _find_failed_files(self) -> list[Subject]:
        signature = self.arguments.get_option("signature").lower()
        files = [file for file in self.state.migration.files.values() if file.status in _FAILED]
        failed = [Subject("file", file.path) for file in files if signature in file.signature.lower()]
        if not failed:
            raise UsageProblem("no file that failed fits that")
        return failed

    def get_number(self, name: str) -> int | None:
        """Return the value of an option that is a number; None if it was not given."""
        text = self.arguments.get_option(name)
        if not text:
            return None
        if not text.isdecimal() or len(text) > _MAX_DIGITS:
            raise UsageProblem(f"invalid value for '--{name}': {text!r} is not a valid integer")
        return int(text)

    def build_command(self, note: str = "", **fields: object) -> Command:
        """Return the command of the line's row, with the note if it can have one."""
        if self.entry.note_option:
            fields[self.entry.note_option] = note
        return build_command(self.entry, fields)


def _build_answers(line: _TypedLine) -> list[Command]:
    names, note = line.split_name_and_note()
    named = [Subject("approval", get_question_item(line.state, name)) for name in names]
    items = builders.find_question_items(named or line.selected, line.state)
    fields: dict[str, object] = {}
    if comments := line.arguments.repeated.get("comment"):
        fields["comments"] = parse_comments(comments)
    return [line.build_command(note, item=item, **fields) for item in items]


def _build_retries(line: _TypedLine) -> list[Command]:
    subjects, note = line.find_subjects("task")
    turn, attempt = line.get_number("from"), line.get_number("attempt")
    commands: list[Command] = []
    for command in builders.build_retries(subjects, line.state, note):
        if isinstance(command, Retry):
            commands.append(line.build_command(note, task=command.task, turn=turn, attempt=attempt))
        else:
            commands.append(command)
    return commands


def _build_cancellation(line: _TypedLine) -> list[Command]:
    """As on the command line, `cancel` without a name means the whole run."""
    subject = Subject("run", line.state.run.run)
    if line.arguments.words:
        subject = line.find_subject(line.arguments.words[0], "task")
    return builders.build_cancellations([subject], line.state, line.get_note(line.arguments.words[1:]))


def _build_as_by_key(kind: SubjectKind, build: builders.CommandBuilder, line: _TypedLine) -> list[Command]:
    """Return the commands that a key builds for the same things."""
    subjects, note = line.find_subjects(kind)
    return build(subjects, line.state, note)


def _build_words(line: _TypedLine) -> list[Command]:
    subjects, note = line.find_subjects("task")
    words = builders.build_words(subjects, line.state, note)
    if not line.arguments.get_option("now"):
        return words
    return [one.model_copy(update={"is_now": True}) for one in words]


def _build_shard_commands(line: _TypedLine) -> list[Command]:
    names, note = line.split_name_and_note()
    names = names or builders.require_names(builders.find_shards(line.selected, line.state), "shard")
    return [line.build_command(note, shard=name) for name in names]


def _build_rollback(line: _TypedLine) -> list[Command]:
    names: Sequence[str] = line.arguments.words
    if line.arguments.get_option("all"):
        names = [shard.name for shard in line.state.migration.shards.values() if shard.commit and not shard.is_reverted]
    subjects = [Subject("shard", name) for name in names] or line.selected
    return builders.build_rollback(subjects, line.state, line.get_note(()))


def _build_criterion(line: _TypedLine) -> list[Command]:
    text, must = " ".join(line.arguments.words), line.arguments.get_option("must")
    return [line.build_command(criterion=build_criterion(line.state.goal.contract, text, must))]


def _build_criterion_drop(line: _TypedLine) -> list[Command]:
    names, note = line.split_name_and_note()
    if not names:
        raise UsageProblem("missing argument 'ID'")
    return [line.build_command(note, id=names[0])]


def _build_host_command(line: _TypedLine) -> list[Command]:
    if not line.arguments.words:
        raise UsageProblem("missing argument 'HOST'")
    return [line.build_command(host=line.arguments.words[0])]


_BUILDERS: Mapping[Target, Callable[[_TypedLine], list[Command]]] = {
    "": lambda line: [line.build_command(line.get_note(line.arguments.words))],
    "question": _build_answers,
    "question-to-approve": _build_answers,
    "task": _build_retries,
    "subtree": _build_cancellation,
    "listener": _build_words,
    "call": partial(_build_as_by_key, "task", builders.build_call_stops),
    "criterion": _build_criterion,
    "criterion-id": _build_criterion_drop,
    "host": _build_host_command,
    "files": partial(_build_as_by_key, "file", builders.build_cancellations),
    "shard": _build_shard_commands,
    "shards": _build_rollback,
    "groups": lambda line: [line.build_command(groups=line.arguments.words)],
}
