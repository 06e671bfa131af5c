"""Options that several verbs share, and the types of their values."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict, TypeVar

import click

from orchestrator.domain.text.lazy_pattern import compile_lazily

F = TypeVar("F", bound=Callable[..., Any])

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


class CommonArguments(TypedDict):
    """The values of `repository_options` and `json_option`."""

    repo: Path
    state: str
    as_json: bool


class ConfigArguments(TypedDict):
    """The values of `config_options`."""

    settings: tuple[str, ...]
    trust_project: bool


class ContractArguments(TypedDict):
    """The values of `contract_options`."""

    criteria: tuple[str, ...]
    musts: tuple[str, ...]


class EngineLimitArguments(TypedDict):
    """The values of `engine_limit_options`."""

    read_only: tuple[str, ...]
    time_limit: float | None


def read_goal(given: str) -> str:
    """Return the goal as given, or for `-` the text on standard input, whatever its encoding is."""
    if given == "-":
        return sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    return given.strip()
