"""The entry point: a lazy group of verbs, and the one place where errors become words and exit codes."""

import gc
import os
import sys
import warnings
from io import TextIOWrapper
from types import TracebackType
from typing import Any, NoReturn

import click

from orchestrator import __version__
from orchestrator.cli.lazy_group import LazyGroup, Verb
from orchestrator.domain.commands.catalog import GOAL_VERBS, OLD_VERBS
from orchestrator.errors import OrchestrateError
from orchestrator.redact.process_protection import protect_process
from worktrees.errors import GitError

VERBS = {
    "demo": Verb("setup.demo", "See it migrate a real package; needs no model key."),
    "init": Verb("setup.init", "Write orchestrate.toml, or a workflow file for your forge."),
    "run": Verb("run.start", "Carry a goal through planner, workers and judge to a PR branch."),
    "plan": Verb("run.plan", "Plan a goal without changing anything."),
    "migrate": Verb("migrate.group", "Change a whole codebase by recipe, file by file."),
    "status": Verb("inspect.status", "Show where a run stands."),
    "runs": Verb("inspect.runs", "List the runs of all repositories, and who waits for you."),
    "watch": Verb("dashboard.watch", "Open the dashboard: watch a run, and answer its questions."),
    "logs": Verb("inspect.logs", "Print what happened in a run."),
    "show": Verb("inspect.show", "Show why a task landed, or why not: verdicts, attempts, receipts."),
    "cost": Verb("inspect.cost", "Show what a run cost, by task, role and model, and what was wasted."),
    "traces": Verb("inspect.traces", "Show the spans of a run, or send them to a collector again."),
    "report": Verb(
        "inspect.report", "Write a report as HTML, Markdown, JUnit or SARIF; or see how well it was judged."
    ),
    "diff": Verb("inspect.diff", "Print the diff of a run, a task or a file."),
    **{name: Verb("control.verbs", entry.line) for name, entry in GOAL_VERBS.items()},
    "criterion": Verb("control.verbs", "Add a criterion to a run's contract, or drop one."),
    "label": Verb("control.label", "Set labels of a run, by which it is found."),
    "inbox": Verb("control.verbs", "Show what waits for a person."),
    "resume": Verb("run.start", "Go on with a run that stopped."),
    "mcp": Verb("mcp.verb", "Serve runs to a chat agent, by the Model Context Protocol."),
    "ci": Verb("ci.group", "Continue a run from one CI job to the next."),
    "engine": Verb("run.engine", "Run the engine in this process, for service managers."),
    "repair": Verb("setup.gc", "Repair the damaged journal of a run."),
    "replay": Verb("run.replay", "Replay a run from its recorded replies, offline, and show where it diverges."),
    "retro": Verb(
        "run.retro", "Find which prompts keep leading to work that is sent back, and try what would mend them."
    ),
    "hands": Verb("setup.hands", "Run one command in a worker's sandbox, to see what it can reach."),
    "hosts": Verb("hosts.group", "Let other machines carry out the commands of a run."),
    "doctor": Verb("setup.doctor", "Check sandbox, git, models and state, and say how to fix what is wrong."),
    "config": Verb("setup.config", "Show the configuration and where each value comes from; print schemas of --json."),
    "prompts": Verb("setup.prompts", "Show the prompts in force, and how yours differ from the shipped ones."),
    "policy": Verb("setup.policy", "Check the rules on what agents may do, and explain what they decide."),
    "memory": Verb("setup.memory", "Show what runs have learnt about this repository, and change it."),
    "completion": Verb("setup.completion", "Print the completion script for your shell."),
    "gc": Verb("setup.gc", "Remove what is no longer needed: idle workspaces, old outputs; if asked, whole runs."),
}

SECTIONS = {
    "Start": ("init", "doctor", "plan", "run", "migrate", "demo"),
    "Watch": ("status", "runs", "watch", "logs", "show", "diff", "cost", "traces", "report"),
    "Decide": ("inbox", "approve", "send-back", "reject", "retry", "tell", "criterion", "label"),
    "Stop and go on": ("pause", "continue", "cancel", "stop-call", "resume"),
    "Mend": ("repair", "replay", "retro", "gc", "config", "prompts", "policy", "memory", "hands", "completion"),
    "Programs": ("ci", "mcp", "engine", "hosts"),
}
"""The verbs as `--help` lists them; in each section those that are used most come first."""


_GC_THRESHOLDS = (50_000, 20, 100)
"""Garbage is collected rarely while modules are loaded: with Python's usual figures that takes a sixth of the time."""
_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@click.group(cls=LazyGroup, verbs=VERBS, sections=SECTIONS, old_verbs=OLD_VERBS, context_settings=_CONTEXT)
@click.version_option(__version__, prog_name="orchestrate")
def cli() -> None:
    """Carry one large goal for one git repository to a reviewed pull request, unattended.

    \b
    orchestrate demo                              see it work; needs no key
    orchestrate init                              begin in your own repository
    orchestrate doctor                            find out what is missing, and how to mend it
    orchestrate run "add OAuth login"             carry out a goal
    orchestrate migrate run RECIPE.toml           change a whole codebase by recipe
    orchestrate status                            see where it stands
    orchestrate watch                             see everything as it happens, and answer
    orchestrate approve                           answer yes to what it asks
    orchestrate show TASK                         see why a task landed, or why not
    orchestrate diff                              see what has landed
    orchestrate resume                            go on with a run that stopped
    """


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and leave with its exit code."""
    _replace_closed_streams()
    if instruction := os.environ.get("_ORCHESTRATE_COMPLETE"):
        from orchestrator.cli.completion import complete_words

        sys.exit(not complete_words(cli, instruction))
    protect_process()
    gc.set_threshold(*_GC_THRESHOLDS)
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
