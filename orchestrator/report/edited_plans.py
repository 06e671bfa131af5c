"""Plans as people edit them: written to a file, read from it again, and held against the rules that they obey."""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.config.live_config import build_effective_config
from orchestrator.config.plan_limits import build_plan_limits
from orchestrator.domain.commands.definitions import Approve
from orchestrator.domain.commands.goal import explain_refusal
from orchestrator.domain.ids import RunId, parse_plan_task
from orchestrator.domain.planning.edit_check import find_edit_problems
from orchestrator.domain.planning.plan_toml import BrokenPlanText, find_task_line, read_plan, render_plan
from orchestrator.domain.run.approval import ApprovalState
from orchestrator.domain.run.plan import Plan, PlanLimits, PlanProblem
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.errors import UsageProblem

_HEAD = """# {title}
# None of these tasks has begun. Change the plan, save it and leave the editor: then it is checked and approved so.
# A file that is empty, or as it was, answers nothing: the question waits on.
# `docs/people.md` tells what a task can hold; what is left away is as usual.

"""
RuleCheck = Callable[[Plan], Sequence[PlanProblem]]
"""Returns what of a plan breaks a rule."""


@dataclass(frozen=True)
class WaitingPlan:
    """A plan that waits for an answer, with what holds for any other in its place."""

    state: RunState
    question: ApprovalState
    proposed: Plan
    limits: PlanLimits

    @property
    def text(self) -> str:
        """The text that a person begins with."""
        return _HEAD.format(title=to_one_line(self.question.approval.title)) + render_plan(self.proposed)

    def write_file(self) -> Path:
        """Write the plan to a file of its own, and return that."""
        return write_plan_file(self.text)

    def read_file(self, file: Path) -> Plan | None:
        """Return the plan that a person made of it; None if they changed nothing or emptied the file.

        Raises:
            UsageProblem: it is broken, or breaks a rule.
        """
        text = file.read_text(encoding="utf-8", errors="replace")
        if not text.strip() or text == self.text:
            return None
        plan = read_checked_plan(file, self.find_problems)
        return None if plan == self.proposed else plan

    def find_problems(self, plan: Plan) -> Sequence[PlanProblem]:
        """Return why a plan may not be carried out in the place of this one."""
        return find_edit_problems(self.state, self.question.approval, plan, self.limits)


def require_waiting_plan(state: RunState, item: str) -> WaitingPlan:
    """Return the plan that a question is about.

    Raises:
        UsageProblem: it is about none, or does not wait for an answer.
    """
    question = state.find_question(item)
    if refusal := explain_refusal(state, Approve(item=item)):
        raise UsageProblem(refusal)
    if question is None or question.approval.plan is None:
        raise UsageProblem(f"{item} asks about no plan that can be edited: approve it as it is")
    planner = state.tasks[parse_plan_task(question.approval.subject)]
    limits = build_plan_limits(state, build_effective_config(state), planner)
    return WaitingPlan(state, question, question.approval.plan, limits)


def read_checked_plan(file: Path, find_problems: RuleCheck) -> Plan:
    """Return the plan of a file.

    Raises:
        UsageProblem: it cannot be read, or is no plan that may be carried out; the message begins with FILE:LINE.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageProblem(f"{file} cannot be read: {error}") from error
    try:
        plan = read_plan(text)
    except BrokenPlanText as broken:
        raise UsageProblem(f"{file}:{broken.line}: {broken.problem}") from broken
    problems = [f"{file}:{find_task_line(text, plan, one.task)}: {one}" for one in find_problems(plan)]
    if problems:
        raise UsageProblem("\n".join(problems))
    return plan


def write_plan_file(text: str) -> Path:
    """Write a text to a new file that is kept until somebody removes it with its folder."""
    file = Path(tempfile.mkdtemp(prefix="orchestrate-plan-"), "plan.toml")
    file.write_text(text, encoding="utf-8")
    return file


def remove_plan_file(file: Path) -> None:
    """Remove a file with its folder, unless the editor left something of its own there."""
    file.unlink(missing_ok=True)
    with suppress(OSError):
        file.parent.rmdir()


def suggest_again(run: RunId, question: ApprovalState, file: Path) -> str:
    """Return how what a person wrote can be given again."""
    return f"what you wrote is kept: mend {file}, then: orchestrate approve {run} {question.id} --plan {file}"
