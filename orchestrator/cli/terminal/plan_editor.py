"""The editor of a person, opened on a plan until that may be carried out."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from orchestrator.cli.output import print_message
from orchestrator.errors import UsageProblem

P = TypeVar("P")


def edit_until_sound(file: Path, read_plan: Callable[[], P], kept: str) -> P:
    """Open a file in `$VISUAL` or `$EDITOR`, and return what `read_plan` makes of it.

    On a terminal the editor comes back as long as the person goes on changing a plan that is wrong.

    Args:
        file: the file.
        read_plan: reads it; raises a UsageProblem that says what is wrong with it.
        kept: that nothing has happened, and how to go on with the file.

    Raises:
        UsageProblem: the editor failed, or the plan is wrong and nobody is there to mend it; the file stays.
    """
    before = b""
    while True:
        try:
            click.edit(filename=str(file))
        except click.ClickException as failed:
            name_one = "name an editor in $VISUAL or $EDITOR"
            raise UsageProblem(f"{failed.format_message()}; {name_one}; {kept}") from failed
        text = file.read_bytes()
        try:
            return read_plan()
        except UsageProblem as problem:
            print_message(str(problem))
            if text == before or not sys.stdin.isatty():
                raise UsageProblem(kept) from problem
            before = text
