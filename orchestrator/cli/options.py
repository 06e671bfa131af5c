"""Options that several verbs share, and their conversion to configuration values."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from orchestrator.config.flag_values import parse_flag_value, set_nested_value
from orchestrator.domain.text.lazy_pattern import compile_lazily

_PART = compile_lazily(r'"([^"]*)"|([^."]+)')
F = TypeVar("F", bound=Callable[..., Any])

_TABLES = {"planner": "", "worker": "variants", "judge": "lenses"}
"""Role → the table of those within it that may have models of their own."""
_DURATION = compile_lazily(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s?)?\Z")


class Duration(click.ParamType[float]):
    """`5h30m`, `90m`, `45s` or a number of seconds."""

    name = "duration"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the duration in seconds."""
        parts = _DURATION.match(value)
        if not value or parts is None:
            self.fail(f"{value!r} is no duration: write for example 5h30m, 90m or 45s", param, ctx)
        hours, minutes, seconds = (int(part or 0) for part in parts.groups())
        return hours * 3600 + minutes * 60 + seconds


def _combine_options(*options: Callable[[F], F]) -> Callable[[F], F]:
    def apply_options(function: F) -> F:
        for option in reversed(options):
            function = option(function)
        return function

    return apply_options


repository_options = _combine_options(
    click.option(
        "--repo",
        type=click.Path(path_type=Path, file_okay=False),
        default=Path(),
        help="The repository; the current directory if not given.",
    ),
    click.option("--state", default="", metavar="DIR", help="Where journals and worktrees live."),
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on standard output.")
config_options = _combine_options(
    click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any key of config.toml."),
    click.option("--trust-project", is_flag=True, help="Let orchestrate.toml set models, budgets and [hands]."),
)
contract_options = _combine_options(
    click.option(
        "--criterion",
        "criteria",
        multiple=True,
        metavar="[ID: ]TEXT",
        help="What has to hold at the end beside GOAL, in words; as often as you like.",
    ),
    click.option(
        "--must",
        "musts",
        multiple=True,
        metavar="COMMAND",
        help="What has to exit 0 on the final state, run by the harness itself; as often as you like.",
    ),
)
detach_option = click.option("--detach", is_flag=True, help="Only start it; print the run's id and leave it to itself.")
no_cache_option = click.option(
    "--no-cache", is_flag=True, help="Run every step of a migration, also on files whose result is known."
)
no_sandbox_option = click.option(
    "--unsafe-no-sandbox",
    is_flag=True,
    help="Run commands with no sandbox: as you, with your files and your network. For this run only; refused in CI.",
)
engine_limit_options = _combine_options(
    click.option("--read-only", multiple=True, metavar="DIR", help="Bind a tool chain's directory into the sandbox."),
    click.option("--time-limit", type=Duration(), metavar="5h30m", help="Stop resumably after this time."),
)


def parse_settings(pairs: tuple[str, ...]) -> dict[str, Any]:
    """Return `--set` pairs as nested values.

    A part with dots of its own stands in quotes: `budget.models."gpt-4.1".usd`.
    """
    values: dict[str, Any] = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{pair!r} is not KEY=VALUE", param_hint="--set")
        path = []
        for quoted, plain in _PART.findall(key):
            path.append(quoted or plain)
        set_nested_value(values, path or [key], parse_flag_value(text))
    return values


def add_criteria(texts: tuple[str, ...], commands: tuple[str, ...], into: dict[str, Any]) -> None:
    """Add `--criterion` and `--must` as `[[contract]]`.

    Their ids are `c1`, `c2`, … unless the text begins with an id, and `must-1`, `must-2`, …
    """
    if texts or commands:
        from orchestrator.domain.run.contract import split_criterion  # most verbs have no such option

        criteria = []
        for number, text in enumerate(texts, start=1):
            name, words = split_criterion(text)
            criteria.append({"id": name or f"c{number}", "text": words})
        musts = []
        for number, line in enumerate(commands, start=1):
            musts.append({"id": f"must-{number}", "command": line})
        into["contract"] = [*into.get("contract", ()), *criteria, *musts]


def disable_sandbox(into: dict[str, Any], is_given: bool) -> None:
    """Switch the sandbox off if `--unsafe-no-sandbox` was given."""
    if is_given:
        set_nested_value(into, ("hands", "without_sandbox"), True)


def disable_cache(into: dict[str, Any], is_given: bool) -> None:
    """Switch the cache of steps off if `--no-cache` was given."""
    if is_given:
        set_nested_value(into, ("migrate", "cache"), False)


def add_models(pairs: tuple[str, ...], into: dict[str, Any]) -> None:
    """Add `--model ROLE=MODEL` pairs.

    `worker.strong=MODEL` names a variant of the worker, `judge.code=MODEL` a lens.
    """
    for pair in pairs:
        role, equals, model = pair.partition("=")
        name, _, within = role.partition(".")
        if not equals or name not in _TABLES or (within and not _TABLES[name]):
            raise click.BadParameter(
                f"{pair!r}: write planner=MODEL, worker=MODEL, judge=MODEL, worker.VARIANT=MODEL or judge.LENS=MODEL",
                param_hint="--model",
            )
        set_nested_value(into, ["roles", name, *([_TABLES[name], within] if within else []), "model"], model)


def read_goal(given: str) -> str:
    """Return the goal as given, or for `-` the text on standard input, whatever its encoding is."""
    if given == "-":
        return sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    return given.strip()
