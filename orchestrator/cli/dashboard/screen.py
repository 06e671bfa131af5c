"""Show a run on a screen of its own: check that it can be, set its looks, and leave it."""

import logging
import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING

import click

from orchestrator.cli.run_lookup import has_live_engine, has_user_settings
from orchestrator.cli.signal_handlers import handle_signals
from orchestrator.journal.locations.run_directory import RunDirectory

if TYPE_CHECKING:
    from orchestrator.cli.dashboard.watch import WatchArguments
    from orchestrator.config.sections.tui import TuiSettings
    from orchestrator.tui.app import Dashboard
    from orchestrator.tui.settings import DashboardSettings

_FRAME = "▓░▶✓…│"
"""Some of what is drawn; a terminal whose locale has none of it is drawn on with ASCII."""
_LOOK_S = 1.0


def can_show_dashboard(environ: Mapping[str, str]) -> bool:
    """Return True if a dashboard can be shown, on a terminal or in a browser.

    Textual reads standard input and draws on standard error.
    """
    if is_for_browser(environ):
        return True
    if environ.get("TERM", "dumb") == "dumb" or environ.get("CI") or environ.get("ORCHESTRATE_TUI") == "0":
        return False
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def is_for_browser(environ: Mapping[str, str]) -> bool:
    """Return True if a server has started this process to draw for a browser."""
    return environ.get("TEXTUAL_DRIVER", "").startswith("textual.drivers.web_driver:")


def show_dashboard(directory: RunDirectory, where: Sequence[str], given: "WatchArguments", again: str) -> int:
    """Show a run until somebody leaves; return the exit code.

    Args:
        directory: the run.
        where: the options with which other verbs find it, from any directory.
        given: the options of `watch`, which win over `[tui]`.
        again: the command that comes back to it.

    Raises:
        UsageProblem: `[tui]` is wrong.
    """
    from orchestrator.cli.dashboard.actions import build_dashboard_actions
    from orchestrator.tui.app import Dashboard
    from orchestrator.tui.run_feed.feed import PlaybackClock, RunFeed, relax_garbage_collector

    relax_garbage_collector()
    settings = read_tui_settings(os.environ)
    actions = build_dashboard_actions(directory, where)
    dashboard_settings = build_settings(settings, given, os.environ)
    log_to_run(directory)
    replay = PlaybackClock(given["speed"] or 1.0) if given["replay"] else None
    app = Dashboard(RunFeed(directory, replay=replay), actions, dashboard_settings)
    with _leave_on_signals(app):
        app.run(mouse=settings.mouse and not given["no_mouse"])
    if app.crash_error is not None:
        raise app.crash_error
    if replay is None and (farewell := _describe_farewell(app, has_live_engine(directory))):
        click.echo(f"left; run {directory.run} {farewell}, come back with: {again}")
    return app.return_code or 0


def _describe_farewell(app: "Dashboard", is_at_work: bool) -> str:
    """Return how a run goes on after its screen is left; empty if there is nothing to come back for."""
    state = app.view_model.state if app.view_model is not None else None
    if is_at_work:
        return "goes on"
    if state is None or state.started is None or state.ended is not None:
        return ""
    return "waits for your answer" if state.pending_approvals else "has stopped"


def print_run_lines(directory: RunDirectory, words: str, is_read_only: bool) -> int:
    """Print a run as lines; return its exit code, or 0 if somebody left before its end.

    Args:
        directory: the run.
        words: the options with which other verbs find it.
        is_read_only: whether nothing can be answered; so it is without a terminal too.
    """
    from orchestrator.cli.dashboard.actions import build_dashboard_actions
    from orchestrator.report.log.progress_lines import ProgressReporter, is_github_actions
    from orchestrator.tui.plain_follower import InputReader, RunFollower

    reporter = ProgressReporter(time.monotonic(), is_github=is_github_actions(os.environ))
    can_type = not is_read_only and sys.stdin is not None and sys.stdin.isatty()
    actions = build_dashboard_actions(directory, shlex.split(words)) if can_type else None
    input_reader = InputReader(sys.stdin) if can_type else None
    try:
        return RunFollower(directory, _print_line, reporter, actions, input_reader, words).follow_run()
    except KeyboardInterrupt:
        click.echo(f"left; run {directory.run} goes on", err=True)
        return 0


def _print_line(text: str) -> None:
    """Print a line at once, for those who read a log while it is written."""
    click.echo(text)
    sys.stdout.flush()


def read_tui_settings(environ: Mapping[str, str]) -> "TuiSettings":
    """Return `[tui]` of the user; where they have set nothing at all, the rest of the configuration is not loaded.

    Raises:
        UsageProblem: the configuration is wrong.
    """
    from orchestrator.config.sections.tui import TuiSettings

    if not has_user_settings(environ):
        return TuiSettings()
    from orchestrator.config.layers import load_config

    return load_config(None, environ=environ).config.tui


def build_settings(settings: "TuiSettings", given: "WatchArguments", environ: Mapping[str, str]) -> "DashboardSettings":
    """Return the look and behaviour of a dashboard: the options of `watch` win over `[tui]`."""
    from orchestrator.tui.settings import DashboardSettings

    is_remote = bool(environ.get("SSH_CONNECTION") or environ.get("CI"))
    return DashboardSettings(
        is_read_only=given["read_only"],
        is_ascii=is_drawn_in_ascii(settings, given),
        has_animations=settings.animations and not given["no_animations"] and not is_remote,
        bell=settings.bell,
        notifications=settings.notifications,
        quiet_s=settings.quiet_s,
        theme=f"orchestrate-{settings.theme}",
        keys=settings.keys,
    )


def is_drawn_in_ascii(settings: "TuiSettings", given: "WatchArguments") -> bool:
    """Return True if nothing but ASCII may be drawn: it is asked for, or the terminal has nothing else."""
    return given["is_ascii"] or settings.ascii or not _is_drawable(sys.stderr.encoding)


def _is_drawable(encoding: str) -> bool:
    try:
        _FRAME.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def log_to_run(directory: RunDirectory) -> None:
    """Log to a file of the run: a message on standard error would stand in the middle of the screen."""
    logging.raiseExceptions = False
    logging.basicConfig(handlers=[_TolerantLogHandler(directory.path / "watch.log", delay=True)], force=True)
    logging.captureWarnings(capture=True)


class _TolerantLogHandler(logging.FileHandler):
    """A log that drops what cannot be written: in somebody else's directory, or on a full disk."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record if that can be done."""
        with suppress(OSError):
            super().emit(record)


@contextmanager
def _leave_on_signals(app: "Dashboard") -> Iterator[None]:
    """End this process, and nothing else, when the terminal hangs up, even while writing to it blocks."""

    is_leaving = False

    def exit_on_hangup(_number: int, _frame: FrameType | None) -> None:
        nonlocal is_leaving
        if is_leaving:
            return  # a shell that dies with its terminal says so a second time: what is being sent is sent
        is_leaving = True
        try:
            app.run_exit_hooks()
        finally:
            os._exit(0)

    def exit_on_sigterm(number: int, _frame: FrameType | None) -> None:
        app.run_exit_hooks()
        app.exit(return_code=128 + number)

    with handle_signals({signal.SIGHUP: exit_on_hangup, signal.SIGTERM: exit_on_sigterm}):
        threading.Thread(target=_hang_up_after_terminal, daemon=True).start()
        yield


def _hang_up_after_terminal() -> None:
    """Send SIGHUP to this process once its terminal or server is gone: not every one of them says so."""
    server = os.getppid() if is_for_browser(os.environ) else None
    while os.getppid() == server if server else os.isatty(0) and os.isatty(2):
        time.sleep(_LOOK_S)
    os.kill(os.getpid(), signal.SIGHUP)
