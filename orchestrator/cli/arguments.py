"""Options that several verbs share, and the types of their values."""

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

import click

from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.money import UNLIMITED

Decorator = Callable[[Any], Any]

_DURATION = compile_lazily(r"(?:(\d{1,5})h)?(?:(\d{1,7})m)?(?:(\d{1,9})s?)?\Z")


FILE = click.Path(path_type=Path, dir_okay=False)
FILE_OR_STDOUT = click.Path(path_type=Path, dir_okay=False, allow_dash=True)
DIRECTORY = click.Path(path_type=Path, file_okay=False)


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


class DollarLimit(click.ParamType["float | str"]):
    """An amount of dollars above 0, or the word `unlimited`."""

    name = "usd"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> float | str:
        """Return the amount in dollars, or the word."""
        if value == UNLIMITED:
            return value
        try:
            amount = float(value)
        except ValueError:
            self.fail(f"{value!r} is no amount of dollars: write for example 5, or {UNLIMITED}", param, ctx)
        if not 0 < amount < math.inf:
            self.fail(f"with {value} no call could be made: give an amount above 0, or {UNLIMITED}", param, ctx)
        return amount


def _combine_options(*options: Decorator) -> Decorator:
    def apply_options(function: Any) -> Any:  # noqa: ANN401
        for option in reversed(options):
            function = option(function)
        return function

    return apply_options


def add_model_option(text: str) -> Decorator:
    """Return the option of models, with this help."""
    return click.option("--model", "models", multiple=True, metavar="ROLE=MODEL", help=text)


def add_budget_option(text: str) -> Decorator:
    """Return the option of the budget in dollars, with this help."""
    return click.option("--budget-usd", type=DollarLimit(), metavar="USD", help=text)


repository_options = _combine_options(
    click.option("--repo", type=DIRECTORY, default=Path(), help="The repository; the current directory if not given."),
    click.option("--state", default="", metavar="DIR", help="Where journals and worktrees live."),
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on standard output.")
common_options = _combine_options(repository_options, json_option)
settings_option = click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Any key of config.toml.")
config_options = _combine_options(
    settings_option,
    click.option("--trust-project", is_flag=True, help="Let orchestrate.toml set models, budgets and [hands]."),
)
contract_options = _combine_options(
    click.option(
        "--criterion",
        "criteria",
        multiple=True,
        metavar="[ID: ]TEXT",
        help="Something that must hold at the end, in words; may be repeated.",
    ),
    click.option(
        "--must",
        "musts",
        multiple=True,
        metavar="COMMAND",
        help="A command that must exit 0 on the final state; may be repeated.",
    ),
)
gate_option = click.option(
    "--gate", metavar="COMMAND", help="The command that must pass before a change lands, e.g. 'python3 -m pytest -q'."
)
target_option = click.option("--target", metavar="BRANCH", help="The branch that the pull request is for.")
goal_options = _combine_options(gate_option, contract_options, target_option)
detach_option = click.option(
    "--detach", is_flag=True, help="Start it in the background, print the run's id and return."
)
no_cache_option = click.option(
    "--no-cache", is_flag=True, help="Run every step of a migration, also on files whose result is known."
)
no_sandbox_option = click.option(
    "--unsafe-no-sandbox",
    is_flag=True,
    help="Run commands with no sandbox: as you, with your files and your network. For this run only; refused in CI.",
)
read_only_option = click.option(
    "--read-only", multiple=True, metavar="DIR", help="Make a toolchain's directory readable in the sandbox."
)
engine_limit_options = _combine_options(
    read_only_option,
    click.option(
        "--time-limit", type=Duration(), metavar="5h30m", help="Stop after this time; the run can be resumed."
    ),
)
resume_options = _combine_options(
    detach_option,
    engine_limit_options,
    no_cache_option,
    add_budget_option("A new budget of the run, or unlimited."),
    settings_option,
)
label_option = click.option(
    "--label", "labels", multiple=True, metavar="NAME=VALUE", help="A label to find the run by; may be repeated."
)
naming_options = _combine_options(
    click.option("--id", "run_name", metavar="NAME", help="A name for the run, by which every verb finds it."),
    label_option,
)
run_options = _combine_options(engine_limit_options, no_sandbox_option, naming_options, config_options, json_option)


def add_role_options(
    models: str, workers: str, budget: str = "Hard stop for the cost of model calls, or unlimited."
) -> Decorator:
    """Return the options of models, workers, budget and approval; the arguments are the texts of their help."""
    return _combine_options(
        add_model_option(models),
        click.option("--max-workers", type=click.IntRange(1), help=workers),
        add_budget_option(budget),
        click.option(
            "--approval", type=click.Choice(["auto", "review", "pr"]), help="When to ask you, see [approval]."
        ),
    )


class VerbArguments(TypedDict, total=False):
    """The values of the options that several verbs share; each verb has some of them."""

    repo: Path
    state: str
    as_json: bool
    settings: tuple[str, ...]
    trust_project: bool
    criteria: tuple[str, ...]
    musts: tuple[str, ...]
    gate: str | None
    target: str | None
    models: tuple[str, ...]
    max_workers: int | None
    budget_usd: float | str | None
    approval: str | None
    read_only: tuple[str, ...]
    time_limit: float | None
    unsafe_no_sandbox: bool
    no_cache: bool
    detach: bool
    labels: tuple[str, ...]
    run_name: str | None


def read_goal(given: str) -> str:
    """Return the goal as given, or for `-` the text on standard input, whatever its encoding is."""
    if given == "-":
        return sys.stdin.buffer.read().decode("utf-8", "replace").strip()
    return given.strip()


def parse_labels(pairs: tuple[str, ...]) -> dict[str, str]:
    """Return the labels that `--label` names.

    Raises:
        click.BadParameter: one of them is no NAME=VALUE.
    """
    labels = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"{pair!r} is not NAME=VALUE", param_hint="--label")
        labels[name] = value
    return labels
