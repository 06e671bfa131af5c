"""The entry point: a lazy group of verbs, and the one place where errors become words and exit codes."""

import os
import sys
import warnings
from io import TextIOWrapper
from types import TracebackType
from typing import Any, NoReturn

import click

from orchestrator import __version__
from orchestrator.cli.lazy_group import LazyGroup, Verb
from orchestrator.domain.commands.catalog import GOAL_VERBS
from orchestrator.errors import OrchestrateError
from orchestrator.redact.process_protection import protect_process
from worktrees.errors import GitError

VERBS = {
    "demo": Verb("setup.demo", "Migrate a real package in front of your eyes; needs no model key."),
    "init": Verb("setup.init", "Write orchestrate.toml, or a workflow file for your forge."),
    "run": Verb("run.start", "Carry a goal through planner, workers and judge to a PR branch."),
    "plan": Verb("run.plan", "Let the planner plan a goal; changes nothing."),
    "migrate": Verb("migrate.group", "Change a whole codebase by recipe, file by file."),
    "status": Verb("inspect.status", "Show where a run stands."),
    "watch": Verb("dashboard.watch", "Watch a run on a screen of its own, and answer what it asks."),
    "logs": Verb("inspect.logs", "Print what happened in a run."),
    "show": Verb("inspect.show", "Show a task: attempts, verdicts, receipts."),
    "cost": Verb("inspect.cost", "Show what a run cost, by task, role and model, and what was wasted."),
    "report": Verb("inspect.report", "Report on a run: a page, Markdown, JUnit, SARIF; or how its reviewers held up."),
    "diff": Verb("inspect.diff", "Print the diff of a run, a task or a file."),
    **{name: Verb("control.verbs", entry.line) for name, entry in GOAL_VERBS.items()},
    "criterion": Verb("control.verbs", "Ask a run for one thing more, or one less."),
    "inbox": Verb("control.verbs", "Show what waits for a person."),
    "resume": Verb("run.start", "Go on with a run that stopped."),
    "ci": Verb("ci.group", "Carry a run on from job to job of a CI system."),
    "engine": Verb("run.engine", "Work on a run in this process, for service managers."),
    "repair": Verb("setup.gc", "Make the damaged journal of a run whole again."),
    "replay": Verb("run.replay", "Do a run over from its journal, offline, and say where it diverges."),
    "hands": Verb("setup.hands", "Run one command as a worker's would run, and see what it can reach."),
    "doctor": Verb("setup.doctor", "Check sandbox, git, models and state, and say how to mend them."),
    "config": Verb("setup.config", "Show where each value of the configuration comes from, and the shapes of --json."),
    "gc": Verb("setup.gc", "Remove what is no longer needed: idle workspaces, old outputs; if asked, whole runs."),
}


_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=LazyGroup, verbs=VERBS, context_settings=_CONTEXT)
@click.version_option(__version__, prog_name="orchestrate")
def cli() -> None:
    """Carry one large goal for one git repository to a reviewed pull request, unattended.

    \b
    orchestrate demo                              a real migration, no key needed
    orchestrate migrate run RECIPE.toml           a codebase-wide change by recipe
    orchestrate run "add OAuth login"             planner, workers, judge
    orchestrate VERB --help                       options and examples of a verb
    """


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code."""
    _replace_closed_streams()
    protect_process()
    sys.excepthook = _print_crash
    warnings.simplefilter("ignore", FutureWarning)  # advice to programmers, here about what a user wrote into a recipe
    try:
        code: Any = cli.main(args=arguments, prog_name="orchestrate", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
    except (OrchestrateError, GitError, OSError) as error:
        _exit_with_error(error)


def _replace_closed_streams() -> None:
    """Replace closed standard streams by /dev/null, so that no file opened later gets their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(descriptor, True)
            setattr(sys, name, os.fdopen(descriptor, mode, encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # what a terminal's encoding lacks ends no command


def _print_crash(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    from orchestrator.cli.output import print_crash

    print_crash(kind, error, trace)


def _exit_with_error(error: Exception) -> NoReturn:
    from orchestrator.cli.output import convert_to_user_error, print_message

    problem = convert_to_user_error(error)
    if problem is None:
        raise error
    print_message(f"error: {problem}")
    sys.exit(problem.exit_code)
