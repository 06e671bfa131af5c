"""Command lines of every verb: words of the real tree of verbs and options, with values that nobody means."""

from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import click

from orchestrator.cli.main import cli
from tests.fuzzing.ground import Ground
from tests.fuzzing.odd_values import ODD_NUMBERS, choose_argument
from tests.fuzzing.target import Given, Target

_FORBIDDEN = {"--while", "--unsafe-no-sandbox", "--web", "--help", "--version"}
"""Options that end this process, run commands without walls, serve for ever, or print a help that never changes."""
_WORKING = {"run", "migrate run", "migrate resume", "resume", "engine", "ci run", "replay", "doctor", "plan", "demo"}
_WORKING |= {"retro"}
"""Verbs that start an engine, a model or a sandbox; and `hands exec`, which runs a command."""
_LONG = {"demo", "watch"}
"""Verbs that work for minutes or wait for what happens next; `watch` is tried with an ended run alone."""
_NAMES = ("latest", "root", "a", "b", "calc.py", "q1", "1", "landing/a@1", "contract", "outcome")
_PATHS = (
    "recipe.toml",
    "../recipe.toml",
    "calc.py",
    ".",
    "..",
    "/",
    "",
    "no/such/file",
    "/proc/nothing/x",
    ".git",
    "-",
)


@cache
def _read_verbs() -> dict[str, click.Command]:
    """Return every command that is no group, by its words."""
    found: dict[str, click.Command] = {}
    waiting: list[tuple[str, click.Command]] = [("", cli)]
    while waiting:
        name, command = waiting.pop()
        if isinstance(command, click.Group):
            with click.Context(command) as context:
                for word in command.list_commands(context):
                    inner = command.get_command(context, word)
                    assert inner is not None
                    waiting.append((f"{name} {word}".strip(), inner))
        if not isinstance(command, click.Group) or command.params:
            found[name] = command
    found.pop("", None)
    return dict(sorted(found.items()))


def _list_verbs(*, is_working: bool) -> list[str]:
    names = []
    for name in _read_verbs():
        starts_work = name in _WORKING or name.startswith("hands")
        if starts_work == is_working and name not in _LONG:
            names.append(name)
    return names


def _choose_value(chance: Random, parameter: click.Parameter) -> str:
    """Return a value that the parameter may take, or one of any other kind."""
    if chance.random() < 0.45:
        return choose_argument(chance)
    kind = parameter.type
    if isinstance(kind, click.Choice):
        return str(chance.choice(list(kind.choices)))
    if isinstance(kind, click.Path):
        return chance.choice(_PATHS)
    if isinstance(kind, click.IntRange | click.FloatRange) or kind in (click.INT, click.FLOAT):
        return chance.choice((*ODD_NUMBERS, "1", "3", "10"))
    if kind.name in {"duration", "usd"}:
        return chance.choice((*ODD_NUMBERS, "1h", "90m", "5", "unlimited"))
    if "=" in str(parameter.make_metavar(click.Context(cli))):
        key = chance.choice(("run.max_workers", "gate.command", "budget.usd", "worker", "x"))
        return f"{key}={choose_argument(chance)}"
    return chance.choice(_NAMES)


def _make_words(chance: Random, name: str) -> Given:
    command = _read_verbs()[name]
    words: list[str] = []
    arguments: list[str] = []
    for parameter in command.params:
        if isinstance(parameter, click.Argument) and (parameter.required or chance.random() < 0.7):
            count = 1 if parameter.nargs == 1 else chance.randrange(1, 4)
            arguments += [_choose_value(chance, parameter) for _ in range(count)]
    options: list[Any] = [one for one in command.params if isinstance(one, click.Option)]
    options = [one for one in options if not _FORBIDDEN.intersection(one.opts) and one.name not in {"repo", "state"}]
    for option in chance.sample(options, k=min(len(options), chance.choice((0, 1, 1, 2, 3)))):
        words.append(chance.choice(option.opts + option.secondary_opts))
        if not option.is_flag and not option.count:
            words.append(_choose_value(chance, option))
    words += arguments
    if chance.random() < 0.2:
        chance.shuffle(words)
    if chance.random() < 0.1:
        words.insert(chance.randrange(len(words) + 1), choose_argument(chance))
    return [word for word in words if not any(word.startswith(bad) for bad in _FORBIDDEN)]


def _make_case(chance: Random) -> Given:
    name = chance.choice(_list_verbs(is_working=False))
    return [*_name_verb(chance, name), *_make_words(chance, name), *_place(chance, name)]


def _make_working(chance: Random) -> Given:
    name = chance.choice(_list_verbs(is_working=True))
    return [*_name_verb(chance, name), *_make_words(chance, name), *_place(chance, name)]


def _name_verb(chance: Random, name: str) -> list[str]:
    if chance.random() < 0.01:
        return [choose_argument(chance)]
    return name.split()


def _place(chance: Random, name: str) -> list[str]:
    """Return where the runs are; sometimes some other place."""
    names = {one.name for one in _read_verbs()[name].params}
    words: list[str] = []
    for option in ("repo", "state"):
        if option not in names:
            continue
        if chance.random() < 0.95:
            words += [f"--{option}", f"{{{option}}}"]
        elif chance.random() < 0.5:
            words += [f"--{option}", choose_argument(chance)]
    return words


def _run_case(given: Given, place: Path) -> None:
    ground = Ground(place)
    runs = ground.list_runs()
    names = {"{repo}": str(ground.repo), "{state}": str(ground.state)}
    words = [names.get(word, word) for word in given]
    if words[:1] == ["watch"]:
        words = ["watch", "--plain", runs[0].run, *words[1:]]
    ground.call_verb(*words)


TARGET = Target("command-lines", _make_case, _run_case, has_ground=True)
WORKING = Target("working-verbs", _make_working, _run_case, has_ground=True, wall_s=60)
