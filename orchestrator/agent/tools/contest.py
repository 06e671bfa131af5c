"""The tool by which a worker contests a test that a verifier wrote: a judge decides on it, once."""

from collections.abc import Sequence

from pydantic import Field

from orchestrator.agent.tools.base import CommandText, Tool, ToolArguments, ToolResult
from orchestrator.domain.event.verification import TestContested
from orchestrator.domain.ids import TaskId
from orchestrator.errors import ToolRefused
from orchestrator.ports.ledger import Ledger


class ContestArguments(ToolArguments):
    """Arguments of `contest_test`."""

    test: CommandText = Field(description="The test, by the name under which you were told of it.")
    why: CommandText = Field(description="Which words of the task it contradicts, or goes beyond.")


def build_contest_tool(ledger: Ledger, task: TaskId, attempt: int, tests: Sequence[str]) -> Tool[ContestArguments]:
    """Return the tool; each of `tests` can be contested once."""

    async def contest_test(arguments: ContestArguments) -> ToolResult:
        test = _find_named_test(arguments.test, tests)
        if test is None:
            raise ToolRefused(f"There is no such test. Those that can be contested: {', '.join(tests)}")
        if not arguments.why.strip():
            raise ToolRefused("Say which words of the task it contradicts, or goes beyond.")
        verification = ledger.state.tasks[task].verification
        known = {contest.test for contest in verification.contests} if verification else set()
        if test not in known:
            await ledger.append(TestContested(task=task, number=attempt, test=test, why=arguments.why))
        return ToolResult(f"{test} is contested: a judge decides on it when your result is judged, and only once.")

    what = (
        "Contest a test that was written from the task alone and that your last result failed, if it asks for what the "
        "task does not say. A judge decides by the task's text, the test and your change."
    )
    return Tool("contest_test", what, ContestArguments, contest_test)


def _find_named_test(name: str, tests: Sequence[str]) -> str | None:
    """Return the test of this name; models also say a part of it, or more than the name."""
    wanted = name.strip()
    if wanted in tests:
        return wanted
    fitting = [test for test in tests if wanted and (wanted in test or test in wanted)]
    if len(fitting) == 1:
        return fitting[0]
    return None
