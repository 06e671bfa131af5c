"""A typed command cut into its words and options, as a shell would cut it."""

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.errors import UsageProblem


@dataclass(frozen=True)
class CommandArguments:
    """The words of a command behind its verb, and its options by name; one that takes no value has `yes`."""

    words: tuple[str, ...]
    options: Mapping[str, str]

    def get_option(self, *names: str) -> str:
        """The value of the first of these options that was given; empty without."""
        return next((self.options[name] for name in names if name in self.options), "")


def split_words(text: str) -> list[str]:
    """The words of a line; quotes hold words together.

    Raises:
        UsageProblem: a quote is not closed.
    """
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageProblem(f"{error}: {text}") from error


def parse_arguments(
    verb: str, given: Sequence[str], options: Collection[str], flags: Collection[str] = ()
) -> CommandArguments:
    """Words and options of a verb; what stands behind `--` are words.

    Raises:
        UsageProblem: the verb has no such option, or its value is missing.
    """
    words: list[str] = []
    found: dict[str, str] = {}
    left = list(given)
    while left:
        word = left.pop(0)
        if word == "--":
            words += left
            break
        if not word.startswith("--"):
            words.append(word)
            continue
        name, is_joined, value = word[2:].partition("=")
        if name not in (*options, *flags):
            known = ", ".join(f"--{one}" for one in (*options, *flags))
            raise UsageProblem(f"no such option for {verb}: --{name}" + (f"; there are {known}" if known else ""))
        if name in options and not is_joined:
            if not left:
                raise UsageProblem(f"option '--{name}' requires an argument")
            value = left.pop(0)
        found[name] = value or ("yes" if name in flags else "")
    return CommandArguments(tuple(words), found)
