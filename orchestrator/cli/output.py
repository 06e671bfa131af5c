"""Print to standard output and standard error, without anything that can steer a terminal; write report files."""

import json
import os
import re
import sys
import unicodedata
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from traceback import format_exception
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TextIO

import click

from orchestrator.cli.arguments import FILE_OR_STDOUT
from orchestrator.cli.terminal.choices import wants_colour
from orchestrator.domain.sandbox.unsafe_banner import UNSAFE_BANNER
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.sanitization import strip_controls
from orchestrator.errors import EnvironmentProblem, OrchestrateError, UsageProblem, convert_error

if TYPE_CHECKING:
    from orchestrator.redact.redactor import Redactor

_STDOUT = Path("-")
_UNUSUAL = compile_lazily(r"[^\n -~]")


def print_object(value: Any) -> None:  # noqa: ANN401
    """Print one JSON object on standard output."""
    click.echo(format_json(value, indent=1 if sys.stdout.isatty() else None))


class Printable(Protocol):
    """Something that `--json` prints as one object."""

    def as_object(self) -> Any:  # noqa: ANN401
        """Return the object."""


LinePainter = Callable[[Iterable[str]], Iterable[str]]
"""A function that colours lines and takes all other control characters out of them."""


def print_document(document: Printable, lines: Iterable[str], as_json: bool, paint: LinePainter | None = None) -> None:
    """Print a document as one JSON object, or the lines of it for a person, coloured by `paint` where they may be."""
    if as_json:
        print_object(document.as_object())
        return
    from orchestrator.cli.terminal.pager import print_pages  # no verb with --json needs it

    if paint is None:
        print_pages(map(strip_controls, lines))
    else:
        print_pages(paint(lines))


def format_json(value: Any, indent: int | None = None) -> str:  # noqa: ANN401
    """Return a value as JSON in which invisible characters are escaped."""
    return _UNUSUAL.sub(_escape_character, json.dumps(value, ensure_ascii=False, indent=indent))


def _escape_character(match: re.Match[str]) -> str:
    if unicodedata.category(match[0]) not in {"Cc", "Cf", "Cs"}:
        return match[0]
    units = match[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[start : start + 2].hex()}" for start in range(0, len(units), 2))


def print_lines(lines: Iterable[str]) -> None:
    """Print lines for a person on standard output."""
    click.echo("\n".join(map(strip_controls, lines)))


def print_message(text: str) -> None:
    """Print a line for a person on standard error, redacted: an error may quote a secret."""
    click.echo(strip_controls(_load_redactor().redact_text(text)), err=True)


def print_crash(_kind: type[BaseException], error: BaseException, _trace: TracebackType | None) -> None:
    """Print an unforeseen error with its traceback on standard error: a `sys.excepthook`."""
    print_message("".join(format_exception(error)).rstrip())


@cache
def _load_redactor() -> "Redactor":
    from orchestrator.redact.redactor import Redactor  # most verbs have nothing to say
    from orchestrator.redact.secret_sources import collect_secrets

    return Redactor(collect_secrets(os.environ, Path.home()))


def print_alarm(text: str, *, err: bool = True) -> None:
    """Print a line that nobody may miss: in red, where that can be shown."""
    stream = sys.stdout
    if err:
        stream = sys.stderr
    click.secho(strip_controls(text), fg="red", bold=True, err=err, color=wants_colour(stream))


def warn_if_unsafe(is_unsafe: bool, *, err: bool = True) -> None:
    """Print an alarm if there is no sandbox around commands."""
    if is_unsafe:
        print_alarm(UNSAFE_BANNER, err=err)


def convert_to_user_error(error: Exception) -> OrchestrateError | None:
    """Return an error as the user is to see it; None for an unforeseen one."""
    problem = convert_error(error)
    if problem is None and isinstance(error, OSError):
        prefix = f"{error.filename}: " if error.filename else ""
        return EnvironmentProblem(f"{prefix}{error.strerror or error}")
    return problem


class CommandOutput:
    """A printer of a command's output as it comes: unchanged into a file or pipe, without controls on a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._decoder = getincrementaldecoder("utf-8")("replace") if stream.isatty() else None

    def write_chunk(self, chunk: bytes) -> None:
        """Write the next bytes of the output."""
        if self._decoder is None:
            self._stream.buffer.write(chunk)
        else:
            self._stream.write(strip_controls(self._decoder.decode(chunk)))
        self._stream.flush()

    def finish_output(self) -> None:
        """Write what is left of an incomplete character at the end of the output."""
        if self._decoder is not None:
            self._stream.write(strip_controls(self._decoder.decode(b"", final=True)))
            self._stream.flush()


def exit_with(code: int) -> NoReturn:
    """Leave the verb with a code."""
    click.get_current_context().exit(code)


def add_file_option(name: str, what: str) -> Callable[[Any], Any]:
    """Return an option with the file for one form."""
    kind = FILE_OR_STDOUT
    return click.option(name, type=kind, metavar="FILE", help=f"{what}; - is standard output.")


def select_forms(files: Mapping[str, Path | None], as_json: bool) -> Mapping[str, Path]:
    """Return the forms that a file was named for.

    Raises:
        UsageProblem: more than one of them would go to standard output.
    """
    wanted = {form: path for form, path in files.items() if path is not None}
    if sum(path == _STDOUT for path in wanted.values()) + as_json > 1:
        raise UsageProblem("only one of the forms can go to standard output: name a file for the others")
    return wanted


def write_report_file(path: Path, text: str) -> None:
    """Write a form of the report to a file, or to standard output for `-`.

    Raises:
        EnvironmentProblem: the file cannot be written.
    """
    if path == _STDOUT:
        click.echo(strip_controls(text) if sys.stdout.isatty() else text, nl=False)
        return
    try:
        path.write_text(text, encoding="utf-8", errors="replace")
    except OSError as error:
        raise EnvironmentProblem(f"{path} cannot be written: {error.strerror}") from error
    print_message(f"wrote {path}")
