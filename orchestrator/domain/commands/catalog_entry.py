"""The shape of a row in the catalog of commands: its words, argument and options."""

from collections.abc import Mapping, Sequence
from inspect import cleandoc
from typing import Literal, NamedTuple

GoalTarget = Literal[
    "question", "question-to-approve", "task", "listener", "subtree", "call", "criterion", "criterion-id", "host"
]
MigrationTarget = Literal["files", "failed-files", "shard", "shards", "groups"]
Target = Literal["", GoalTarget, MigrationTarget]
"""The kind of thing that a command is about. A command without one is about the run."""
Wake = Literal["never", "always", "unless-declined", "if-ended"]
"""The cases in which the command line starts an engine; commands that are "unless-declined" have `--no-wake`."""


class CommandOption(NamedTuple):
    """An option of a command.

    Args:
        name: without dashes.
        help: its line in `--help`.
        metavar: the name of its value in `--help`; made from its type if empty.
        kind: `number` is an integer of at least `minimum`; `texts` may be given several times.
        field: the field of the command that it fills; `name` if empty.
        is_in_palette: whether the dashboard knows it too.
    """

    name: str
    help: str
    metavar: str = ""
    kind: Literal["text", "texts", "number", "flag"] = "text"
    minimum: int = 0
    is_required: bool = False
    field: str = ""
    is_in_palette: bool = True

    @property
    def field_name(self) -> str:
        """The field of the command that the option fills."""
        return self.field or self.name


class CommandArgument(NamedTuple):
    """The words of a command line that name what a command is about."""

    name: str
    metavar: str = ""
    is_required: bool = True
    is_many: bool = False


class CatalogEntry(NamedTuple):
    """A command for people.

    Args:
        name: the words that begin it, without `migrate`.
        do: the `do` of the model in `definitions`.
        usage: how it is typed in a dashboard.
        summary: what it does, for the dashboard.
        line: what it does, for the command line's list of verbs; empty where the command line has no such verb.
        help: what `--help` says first.
        examples: whole command lines, which it shows last.
        target: what it is about.
        argument: the words of the command line that name the target.
        words: what stands behind that on the command line; for the dashboard they are its note.
        options: its options on the command line, in the order of `--help`.
        wake: when the command line starts an engine.
        fixed: fields of the model that always have the same value.
    """

    name: str
    do: str
    usage: str
    summary: str
    line: str = ""
    help: str = ""
    examples: Sequence[str] = ()
    target: Target = ""
    argument: CommandArgument | None = None
    words: CommandArgument | None = None
    options: Sequence[CommandOption] = ()
    wake: Wake = "never"
    fixed: Mapping[str, str] = {}

    @property
    def is_answer(self) -> bool:
        """True if it answers a question."""
        return self.target in {"question", "question-to-approve"}

    @property
    def help_text(self) -> str:
        """The text of `--help`."""
        return "\n".join((f"{cleandoc(self.help)}\n\n\b", *self.examples))

    @property
    def note_option(self) -> str:
        """The field that takes the further words of a typed command; empty if it takes none."""
        if self.words is not None:
            return self.words.name
        for option in self.options:
            if option.name in {"reason", "note"}:
                return option.name
        return ""
