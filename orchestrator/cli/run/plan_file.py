"""Plans that people give: read from a file, or edited in their editor, and checked as those of planners are."""

import shlex
import sys
from pathlib import Path
from typing import NoReturn

import click

from orchestrator.cli.output import print_message
from orchestrator.domain.planning.plan_toml import render_plan
from orchestrator.domain.run.plan import Plan, PlanLimits, check_plan
from orchestrator.errors import UsageProblem
from orchestrator.report.edited_plans import read_checked_plan, remove_plan_file, write_plan_file

_HELP = """# The plan of the run. Change it, save it and leave the editor: then it is checked, and the run begins.
# An empty file begins nothing. Each [[tasks]] is a task:
#
#   key         its name: small letters, digits, hyphens
#   kind        "leaf": a worker does it; "branch": a planner divides it further
#   title       in a few words
#   outcome     what is true at its end
#   acceptance  a list of what has to hold
#   paths       globs of the files that it may change
#   depends_on  keys of the tasks that land first
#   variant     of the worker
#
# What is left away is as usual.

"""


def read_plan_file(file: Path, limits: PlanLimits) -> Plan:
    """Return the first plan of a run from a file.

    Raises:
        UsageProblem: as for `read_checked_plan`.
    """
    return read_checked_plan(file, lambda plan: check_plan(plan, limits))


def edit_plan(plan: Plan, limits: PlanLimits, goal: str, is_agreed: bool) -> Plan:
    """Let a person edit a plan in `$VISUAL` or `$EDITOR` until it may be carried out, and return it.

    On a terminal the editor comes back as long as the person goes on changing a plan that is wrong. A plan that was
    left as it is begins nothing, unless `is_agreed`.

    Raises:
        UsageProblem: the file is empty now, or nothing may begin with it; what was written is kept.
    """
    shown, before = _HELP + render_plan(plan), ""
    file = write_plan_file(shown)
    while True:
        _open_editor(file, goal)
        text = file.read_text(encoding="utf-8", errors="replace")
        if not text.strip():
            remove_plan_file(file)
            raise UsageProblem("the plan is empty: nothing was begun")
        try:
            edited = read_plan_file(file, limits)
        except UsageProblem as problem:
            print_message(str(problem))
            if text == before or not sys.stdin.isatty():
                _keep_file(file, goal)
            before = text
            continue
        if text == shown and not is_agreed:
            print_message("the plan was not changed; to run a plan as it is, type --yes with --edit")
            _keep_file(file, goal)
        remove_plan_file(file)
        return edited


def _open_editor(file: Path, goal: str) -> None:
    try:
        click.edit(filename=str(file))
    except click.ClickException as error:
        print_message(f"{error.message}; name an editor in $VISUAL or $EDITOR")
        _keep_file(file, goal)


def _keep_file(file: Path, goal: str) -> NoReturn:
    words = shlex.quote(goal) if len(goal.splitlines()) == 1 else "GOAL"
    go_on = f"orchestrate run {words} --plan {shlex.quote(str(file))}"
    raise UsageProblem(f"nothing was begun; the plan is kept in {file}; to run it: {go_on}")
