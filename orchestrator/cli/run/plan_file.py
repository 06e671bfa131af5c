"""Plans that people give: read from a file, or edited in their editor, and checked as those of planners are."""

import shlex
from pathlib import Path

from orchestrator.cli.terminal.plan_editor import edit_until_sound
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
    """Let a person edit a plan in their editor until it may be carried out, and return it.

    A plan that was left as it is begins nothing, unless `is_agreed`.

    Raises:
        UsageProblem: the file is empty now, or nothing may begin with it; what was written is kept.
    """
    shown = _HELP + render_plan(plan)
    file = write_plan_file(shown)
    kept = f"nothing was begun; the plan is kept in {file}; to run it: {_suggest_run(goal, file)}"

    def read_plan() -> Plan | None:
        if file.read_bytes().strip():
            return read_plan_file(file, limits)
        return None

    edited = edit_until_sound(file, read_plan, kept)
    if edited is None:
        remove_plan_file(file)
        raise UsageProblem("the plan is empty: nothing was begun")
    if file.read_bytes() == shown.encode() and not is_agreed:
        raise UsageProblem(f"the plan was not changed; to run a plan as it is, type --yes with --edit; {kept}")
    remove_plan_file(file)
    return edited


def _suggest_run(goal: str, file: Path) -> str:
    words = shlex.quote(goal) if len(goal.splitlines()) == 1 else "GOAL"
    return f"orchestrate run {words} --plan {shlex.quote(str(file))}"
