"""What goes to standard output and what to standard error."""

import json
import sys
from typing import Any

import click


def print_object(value: Any) -> None:  # noqa: ANN401
    """One JSON object on standard output."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=1 if sys.stdout.isatty() else None))


def say(text: str) -> None:
    """A line for a person, on standard error."""
    click.echo(text, err=True)
