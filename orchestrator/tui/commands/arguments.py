"""A typed command cut into its words and options, as a shell would cut it."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestrator.domain.commands.catalog import CommandOption
from orchestrator.errors import UsageProblem


@dataclass(frozen=True)
class CommandArguments:
    """The words of a command behind its verb, and its options by name; one that takes no value has `yes`."""

    words: tuple[str, ...]
    options: Mapping[str, str]

    def get_option(self, *names: str) -> str:
        """Return the value of the first of these options that was given; empty if none was."""
        for name in names:
            if name in self.options:
                return self.options[name]
        return ""


def split_words(text: str) -> list[str]:
    """Return the words of a line; quotes hold words together.

    Raises:
        UsageProblem: a quote is not closed.
    """
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageProblem(f"{error}: {text}") from error


def parse_arguments(verb: str, given: Sequence[str], options: Sequence[CommandOption]) -> CommandArguments:
    """Return the words and the options of a verb; what stands behind `--` are words.

    Raises:
        UsageProblem: the verb has no such option, or its value is missing.
    """
    by_name = {option.name: option for option in options}
    words: list[str] = []
    values: dict[str, str] = {}
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
        if name not in by_name:
            raise UsageProblem(_describe_unknown_option(verb, name, list(by_name)))
        if by_name[name].kind == "flag":
            value = value or "yes"
        elif not is_joined:
            if not rest:
                raise UsageProblem(f"option '--{name}' requires an argument")
            value = rest.pop(0)
        values[name] = value
    return CommandArguments(tuple(words), values)


def _describe_unknown_option(verb: str, name: str, known: Sequence[str]) -> str:
    if not known:
        return f"no such option for {verb}: --{name}"
    return f"no such option for {verb}: --{name}; there are --{', --'.join(known)}"
