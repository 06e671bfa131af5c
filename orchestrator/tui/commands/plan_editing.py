"""Editing a plan that waits: the user's editor has the terminal, and what it leaves is checked and approved."""

from collections.abc import Callable
from pathlib import Path

from anyio import to_thread
from textual.app import App

from orchestrator.domain.commands.definitions import Approve
from orchestrator.errors import UsageProblem
from orchestrator.report.edited_plans import WaitingPlan, remove_plan_file, suggest_again
from orchestrator.tui.commands.checkout import suspend_dashboard


async def edit_waiting_plan(app: App[None], open_editor: Callable[[Path], None], waiting: WaitingPlan) -> Approve:
    """Let a person edit a plan, and return the answer that approves it as they left it; the file is kept.

    Raises:
        UsageProblem: they changed nothing, or the plan may not be carried out; the message says where it is kept.
        SuspendNotSupported: the app has no terminal to lend.
        EnvironmentProblem: the editor cannot be started.
    """
    file, item = waiting.write_file(), waiting.question.approval.item
    with suspend_dashboard(app):
        await to_thread.run_sync(open_editor, file)
    try:
        plan = waiting.read_file(file)
    except UsageProblem as problem:
        again = suggest_again(waiting.state.run.run, waiting.question, file)
        raise UsageProblem(f"{problem}; nothing was answered; {again}") from problem
    if plan is None:
        remove_plan_file(file)
        raise UsageProblem(f"the plan is as it was or empty: nothing was answered, and {waiting.question.id} waits on")
    return Approve(item=item, plan=plan)
