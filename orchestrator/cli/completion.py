"""Complete words on the command line: verbs, runs, and the tasks, files and questions of a run.

A shell calls this at every press of the tab key, so nothing is imported that is not needed: the names come from the
status that engines keep beside the journal. Options are left to click, which imports the verb.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from orchestrator.cli.lazy_group import LazyGroup
from orchestrator.cli.run_lookup import find_state_directory
from orchestrator.domain.ids import LATEST_RUN
from orchestrator.errors import OrchestrateError
from orchestrator.journal.locations.run_directory import RunDirectory, StateDirectory
from orchestrator.journal.storage.projection import read_projection

COMPLETION_VARIABLE = "_ORCHESTRATE_COMPLETE"
"""The variable by which a shell asks for completions: `bash_complete`, `zsh_source`, …"""
PROGRAM = "orchestrate"

_RUN_VERBS = (
    "status",
    "watch",
    "cost",
    "traces",
    "report",
    "resume",
    "inbox",
    "pause",
    "continue",
    "replay",
    "engine",
    "repair",
    "label",
)
_TASK_VERBS = ("show", "logs", "diff", "retry", "cancel", "tell", "stop-call")
_HOST_VERBS = ("drain", "cordon", "uncordon")
_QUESTION_VERBS = ("approve", "send-back", "reject", "deny")
_ALONE = frozenset({"show", "logs", "diff", *_QUESTION_VERBS})
"""Verbs of which the first word may be a part of the latest run instead of a run."""
_VALUE_OPTIONS = frozenset({"--repo", "--state"})


class _Words(NamedTuple):
    """The words before the one that is completed: those of the verb, then its arguments, and two options."""

    verb: tuple[str, ...]
    arguments: tuple[str, ...]
    repository: Path
    state: str


def complete_words(group: LazyGroup, instruction: str) -> bool:
    """Print what a shell asks for; return False if its instruction means nothing.

    `instruction` is the value of `COMPLETION_VARIABLE`.
    """
    shell, _, what = instruction.partition("_")
    kind = get_completion_class(shell)
    if kind is None:
        return False
    completer = kind(group, {}, PROGRAM, COMPLETION_VARIABLE)
    if what == "source":
        click.echo(completer.source())
        return True
    if what != "complete":
        return False
    given, incomplete = completer.get_completion_args()
    items = find_completions(group, given, incomplete)
    if items is None:
        items = completer.get_completions(given, incomplete)
    _print_items(completer, items)
    return True


def _print_items(completer: ShellComplete, items: Sequence[CompletionItem]) -> None:
    for item in items:
        click.echo(completer.format_completion(item))


def find_completions(group: LazyGroup, given: Sequence[str], incomplete: str) -> list[CompletionItem] | None:
    """Return how a word can go on; None where it is an option, or click knows better."""
    if incomplete.startswith("-"):
        return None
    words = _read_words(group, given)
    verbs = _find_verbs(group, words.verb)
    if verbs is not None:
        return [CompletionItem(name, help=text) for name, text in verbs.items() if name.startswith(incomplete)]
    try:
        names = list(dict.fromkeys(_find_names(words)))
    except (OrchestrateError, OSError):
        return []
    if not names:
        return None
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def _read_words(group: LazyGroup, given: Sequence[str]) -> _Words:
    """Divide the words of a command line. The values of other options than two count as arguments."""
    plain: list[str] = []
    options = {"--repo": "", "--state": ""}
    rest = iter(given)
    for word in rest:
        name, has_value, value = word.partition("=")
        if name in _VALUE_OPTIONS:
            options[name] = value if has_value else next(rest, "")
        elif not word.startswith("-"):
            plain.append(word)
    depth = 1
    if plain and _find_verbs(group, (plain[0],)) is not None:
        depth = 2
    return _Words(tuple(plain[:depth]), tuple(plain[depth:]), Path(options["--repo"]), options["--state"])


def _find_verbs(group: LazyGroup, verb: Sequence[str]) -> Mapping[str, str] | None:
    """Return the verbs that can follow these words, with their lines; None if an argument follows."""
    if not verb:
        return {name: entry.help for name, entry in group.verbs.items()}
    if verb == ("migrate",):
        from orchestrator.cli.migrate.group import VERBS
    elif verb == ("hosts",):
        from orchestrator.cli.hosts.group import VERBS
    else:
        return None
    return {name: entry.help for name, entry in VERBS.items()}


def _find_names(words: _Words) -> Iterator[str]:
    """Yield the names that can stand at the place of the next argument."""
    verb, arguments = words.verb[-1], words.arguments
    is_migration = words.verb[0] == "migrate"
    takes_parts = verb in _TASK_VERBS or verb in _QUESTION_VERBS or verb in _HOST_VERBS or is_migration
    if not (takes_parts or verb in _RUN_VERBS):
        return
    runs = find_state_directory(words.repository, words.state)
    if not arguments:
        if verb in _ALONE:
            yield from _find_parts(runs.find_run(None), verb)
        yield LATEST_RUN
        yield from _list_run_names(runs)
    elif takes_parts:
        yield from _find_parts(runs.find_run(arguments[0]), verb)


def _list_run_names(runs: StateDirectory) -> Iterator[str]:
    for directory in reversed(runs.list_runs()):
        yield directory.run


def _find_parts(directory: RunDirectory, verb: str) -> Iterator[str]:
    """Yield the questions that wait in a run, or its tasks and files."""
    stored = read_projection(directory.journal, "status")
    if stored is None:
        return
    status = json.loads(stored.body)
    if verb in _QUESTION_VERBS or verb in _ALONE:
        yield from status.get("questions", ())
    if verb in _HOST_VERBS:
        for host in status.get("hosts", {}).get("hosts", ()):
            yield host["name"]
    if verb in (*_QUESTION_VERBS, *_HOST_VERBS):
        return
    for task in status["plan"]:
        yield task["id"]
    if status["mode"] != "migration":
        return
    files = status["files"]
    yield from files["landed"]
    for kind in ("rejected", "unchanged", "needs_human", "skipped", "reverted"):
        for file in files.get(kind) or ():
            yield file["path"]
