"""The options that say how a verb shows its output: `--color` and `--no-pager`; the rules that hold without them."""

import os
from collections.abc import Callable, Mapping
from typing import Any, TextIO

import click

_COLOUR_KEY, _PAGER_KEY = "orchestrate.color", "orchestrate.no-pager"
_UNSET = frozenset({"", "0"})


def add_color_option(function: Any) -> Any:  # noqa: ANN401
    """Give a verb `--color`."""
    return click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        expose_value=False,
        callback=_build_keeper(_COLOUR_KEY),
        help="Colour the output; auto: on a terminal, unless NO_COLOR is set.",
    )(function)


def add_display_options(function: Any) -> Any:  # noqa: ANN401
    """Give a verb `--color` and `--no-pager`."""
    option = click.option(
        "--no-pager",
        is_flag=True,
        expose_value=False,
        callback=_build_keeper(_PAGER_KEY),
        help="Print everything at once; else $ORCHESTRATE_PAGER, $PAGER or less shows what is longer than the screen.",
    )
    return add_color_option(option(function))


def _build_keeper(key: str) -> Callable[[click.Context, click.Parameter, object], None]:
    def keep_value(context: click.Context, _parameter: click.Parameter, value: object) -> None:
        context.meta[key] = value

    return keep_value


def _get_choice(key: str) -> object:
    context = click.get_current_context(silent=True)
    if context is None:
        return None
    return context.meta.get(key)


def may_use_pager() -> bool:
    """Return True if the verb has the option `--no-pager`, and it was not given."""
    return _get_choice(_PAGER_KEY) is False


def wants_colour(stream: TextIO, environ: Mapping[str, str] = os.environ) -> bool:
    """Return True if what goes to `stream` is to be coloured.

    The first that is given decides: `--color`, NO_COLOR, CLICOLOR_FORCE or FORCE_COLOR, CLICOLOR=0, TERM=dumb; else
    whether the stream is a terminal.
    """
    choice = _get_choice(_COLOUR_KEY)
    if choice in {"always", "never"}:
        return choice == "always"
    if environ.get("NO_COLOR"):
        return False
    if not {environ.get("CLICOLOR_FORCE", ""), environ.get("FORCE_COLOR", "")} <= _UNSET:
        return True
    if environ.get("CLICOLOR") == "0" or environ.get("TERM") == "dumb":
        return False
    return stream.isatty()
